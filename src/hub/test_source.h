// For tests: a process that emits numbered events to every session that a runtime would give them
// to, through a real trace.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "base/guarded.h"
#include "hub/source.h"
#include "nettrace/writer.h"

namespace clrscope::hub {

class TestSource final : public Source {
 public:
  explicit TestSource(pid_t pid) {
    info_ = std::make_shared<const SourceInfo>(SourceInfo{
        .id = static_cast<std::uint64_t>(pid), .pid = pid, .process = "shop", .runtime = "10.0.1"});
  }

  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }

  Result<std::unique_ptr<SourceSession>> open(const SourceRequest& request,
                                              SourceEvents events) override {
    if (refuses) return fail(Errc::kDenied, "no more sessions");
    ++opened;
    return std::make_unique<Session>(*this, request, std::move(events));
  }

  CounterSources counter_sources() override {
    return has.with([](const auto& sources) { return sources; });
  }

  // An event with one number in it.
  void emit(const EventType& type, std::int32_t number) {
    emit(type, Bytes{reinterpret_cast<const std::uint8_t*>(&number), sizeof number});
  }
  void emit(const EventType& type, Bytes payload, std::uint64_t thread = 1) {
    const std::lock_guard lock{mutex_};
    for (auto* session : sessions_) session->emit(type, payload, thread);
  }
  // The process ends: so do its sessions.
  void die() {
    const std::lock_guard lock{mutex_};
    for (auto* session : sessions_) session->end("the target ended the session");
  }

  std::size_t sessions() const {
    const std::lock_guard lock{mutex_};
    return sessions_.size();
  }
  std::vector<SourceRequest> requests() const {
    const std::lock_guard lock{mutex_};
    return requests_;
  }
  Guarded<CounterSources> has;  // what in it tells counters
  std::atomic<bool> refuses = false;
  std::atomic<std::size_t> opened = 0;

 private:
  class Session final : public SourceSession {
   public:
    Session(TestSource& source, SourceRequest request, SourceEvents events)
        : source_(source), request_(std::move(request)), events_(std::move(events)) {
      const std::lock_guard lock{source_.mutex_};
      source_.sessions_.push_back(this);
      source_.requests_.push_back(request_);
    }
    ~Session() override {
      const std::lock_guard lock{source_.mutex_};
      std::erase(source_.sessions_, this);
      end("asked");
    }

    void emit(const EventType& type, Bytes payload, std::uint64_t thread) {
      for (const auto& one : request_.providers)
        if (matches(one, type)) return write(type, payload, thread);
    }
    void end(const std::string& why) {
      if (events_.on_end) events_.on_end(why);
    }

   private:
    void write(const EventType& type, Bytes payload, std::uint64_t thread) {
      const auto feed = [&](Bytes bytes) {
        return reader_->feed(bytes, [&](const nettrace::Batch& batch) {
          if (!batch.events.empty()) events_.on_batch(*reader_, batch, reader_);
        });
      };
      if (!writer_) {
        writer_.emplace(nettrace::TraceInfo{.start = WallTime{} + opened_,
                                            .sync_ticks = opened_.count(),
                                            .ticks_per_second = 1'000'000'000},
                        feed);
        id_ = writer_->add_source(nettrace::Writer::Numbering::kNone);
      }
      CHECK(writer_->write(id_, {.type = &type,
                                 .ticks = TraceClock::now().time_since_epoch().count(),
                                 .thread = ThreadId{thread},
                                 .capture_thread = thread,
                                 .payload = payload,
                                 .process = ProcessId{1}}));
      CHECK(writer_->flush());
    }

    TestSource& source_;
    SourceRequest request_;
    SourceEvents events_;
    std::shared_ptr<nettrace::Reader> reader_ = std::make_shared<nettrace::Reader>();
    std::optional<nettrace::Writer> writer_;
    nettrace::SourceId id_{};
    const std::chrono::nanoseconds opened_ = TraceClock::now().time_since_epoch();
  };

  std::shared_ptr<const SourceInfo> info_;
  mutable std::mutex mutex_;
  std::vector<Session*> sessions_;
  std::vector<SourceRequest> requests_;
};

inline EventType numbered(std::string provider, std::uint32_t id, std::uint64_t keywords,
                          std::uint8_t level = 4) {
  EventType type{.index = id, .provider = std::move(provider), .name = "Numbered", .id = id};
  type.keywords = keywords;
  type.level = level;
  type.fields = {{.name = "n", .type = TypeCode::kInt32}};
  return type;
}

}  // namespace clrscope::hub
