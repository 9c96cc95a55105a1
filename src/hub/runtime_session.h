// One session in one process: reads on its own thread and gives each event to those who asked.
//
// Routes say which listener gets which event; they are replaced and never changed; what the reading
// thread finds there is not locked against the hub. For a switch to other sessions (switch_over.h)
// the old one notes what it handed on, and the new one holds its events until the old one has
// ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "hub/listener.h"
#include "hub/source.h"
#include "hub/switch_over.h"
#include "hub/wall_shift.h"

namespace clrscope::hub {

enum class ListenerId : std::uint64_t {};

struct Routes {
  struct Route {
    std::shared_ptr<Listener> listener;
    // All that the listener asked for, and which of it this session serves. The first request that
    // an event matches decides, so that it comes once where several match.
    std::vector<ProviderRequest> requests;
    std::vector<bool> here;
    // In a switch: which of the new sessions these requests go to, which of the old they come from.
    std::size_t to = kNoPeer, from = kNoPeer;
  };
  static constexpr std::size_t kNoPeer = ~std::size_t{0};
  std::vector<Route> routes;
};

class RuntimeSession {
 public:
  // A listener's request, served by this session.
  struct Tie {
    ListenerId listener{};
    std::size_t request = 0;  // its place among the listener's
    std::size_t to = Routes::kNoPeer, from = Routes::kNoPeer;
  };

  RuntimeSession(SourceRequest request, std::uint64_t alone,
                 std::shared_ptr<const SourceInfo> source, std::uint64_t reader, bool held = false);

  Result<> open(Source& source);
  // What the runtime still holds is handed on first; what is held here is not.
  void close();

  const SourceRequest& request() const { return request_; }
  std::uint64_t alone() const { return alone_; }
  // The provider that has been configured by it; null: none. It has no other then.
  const ProviderRequest* configured() const {
    return is_configured(request_.providers.front()) ? &request_.providers.front() : nullptr;
  }
  void set_routes(std::shared_ptr<const Routes> routes);

  // In a switch. What the session that is replaced handed on last, for those who go to `to`; only
  // after it was closed.
  LastEvents last(std::size_t to) const { return to < last_.size() ? last_[to] : LastEvents{}; }
  struct Old {
    LastEvents last;
    bool written_first = true;  // probably
  };
  // Hands on what was held and whatever comes, without what the old ones had; by `from`. `on`:
  // since then the session has been there for certain, and until then the old ones were.
  void release(std::vector<Old> old, TraceTime on);
  // Whether copies may still come.
  bool filters() const { return filters_copies_; }

  // The hub's, under its lock:
  std::vector<Tie> ties{};
  std::size_t place = kNoPlace;  // among the sessions of the process
  static constexpr std::size_t kNoPlace = ~std::size_t{0};

  std::uint64_t events() const { return events_; }
  std::uint64_t unwanted() const { return unwanted_; }
  std::string ended() const {
    return ended_.with([](const auto& text) { return text; });
  }

 private:
  using RowsByRoute = std::vector<std::vector<std::uint32_t>>;
  struct Kind {  // of events; looked up once
    bool known = false;
    std::uint64_t content = 0;
    std::vector<std::uint32_t> takers{};  // routes
    std::vector<std::size_t> to{};        // in a switch: where they go
  };
  struct Held {
    std::shared_ptr<const Routes> routes;
    std::shared_ptr<const Block> block;
    RowsByRoute rows;
  };

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch,
                const std::shared_ptr<const void>& owner);
  void hand_on(const nettrace::Reader& reader, std::shared_ptr<Block> block);
  const Kind& kind_of(const EventType& type);
  void leave_out_copies(const Routes& routes, const Block& block, RowsByRoute& rows);

  const SourceRequest request_;
  const std::uint64_t alone_;
  const std::shared_ptr<const SourceInfo> source_;
  const std::uint64_t reader_;
  Guarded<std::shared_ptr<const Routes>> routes_;
  std::atomic<std::uint64_t> events_{0}, unwanted_{0};
  Guarded<std::string> ended_;

  // In a switch, of the new session:
  std::mutex hold_mutex_;
  std::condition_variable released_;
  bool holds_;
  bool discards_ = false;
  std::vector<Held> held_;
  std::size_t held_bytes_ = 0;
  TraceTime opened_{};  // by the program's clock; known with the first event
  TraceTime on_{};
  std::vector<Old> old_;
  std::vector<CopyFilter> filters_;      // by where the requests come from
  std::vector<std::uint64_t> contents_;  // by type
  std::atomic<bool> filters_copies_{false};

  // Of the reading thread:
  std::shared_ptr<const Routes> known_routes_;
  std::vector<Kind> kinds_;  // by type
  RowsByRoute rows_;
  WallShift wall_shift_;
  std::vector<LastEvents> last_;
  std::uint64_t lost_ = 0;

  std::unique_ptr<SourceSession> session_;  // last member: ends first
};

}  // namespace clrscope::hub
