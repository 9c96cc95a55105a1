// The tenants of a server: each has a store, a committer, limits and quotas of its own.
//
// A store is reached through a Tenant, and a Tenant through Access::check() alone: what a caller
// may see is decided by its token, whatever it asks. A server without a file of tenants has one,
// without a name. docs/tenants.md, docs/adr/0009-tenants.md
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"
#include "fleet/committer.h"
#include "fleet/configuration.h"
#include "fleet/host_limits.h"
#include "fleet/series_quota.h"
#include "store/store.h"

namespace clrscope::fleet {

struct TenantSetting {
  std::string name{};  // empty: the only one
  store::Retention retention{};
  std::uint64_t quota_bytes = 0;   // of the store; 0: none
  std::uint64_t quota_series = 0;  // 0: none
  std::uint64_t host_limit = 0;    // spans and requests per second and host; 0: none
  bool operator==(const TenantSetting&) const = default;
};

// "NAME [retention=TIME] [max-size=SIZE] [quota=SIZE] [series=COUNT] [host-limit=COUNT]", one line
// each, # begins a comment. What a line leaves out is as in `usual`.
Result<std::vector<TenantSetting>> parse_tenants(std::string_view text, const TenantSetting& usual);

// What a tenant uses of what it may.
struct TenantUse {
  std::string tenant{};
  std::chrono::nanoseconds retention{};
  std::uint64_t bytes = 0;
  std::uint64_t quota_bytes = 0;
  std::uint64_t series = 0;
  std::uint64_t quota_series = 0;
  std::uint64_t refused_batches = 0;   // by the quota of bytes: they come again
  std::uint64_t refused_requests = 0;  // by the quota of series: lost
  bool full = false;
};
const Shape& shape_of(const TenantUse*);

class Tenant {
 public:
  Tenant(TenantSetting setting, std::unique_ptr<store::Store> store,
         Committer::OnStored on_stored = {});

  const std::string& name() const { return name_; }
  store::Store& store() { return *store_; }
  Committer& committer() { return committer_; }
  Configurations& configurations() { return configurations_; }
  std::chrono::nanoseconds retention() const { return setting().retention.age; }

  // Before a batch is stored: a failure says why it must wait. Takes out the requests that the
  // quota of series does not allow, and says how many. `bytes`: as it was sent.
  Result<std::uint64_t> take(store::Batch& batch, std::uint64_t bytes);
  // The rest of that batch was stored.
  void count_refused(std::uint64_t requests) { refused_requests_ += requests; }

  // The same for spans of other tracers, which are no series.
  Result<> take_spans(const std::string& host, std::uint64_t spans, std::uint64_t bytes);

  bool has_byte_quota() const { return setting().quota_bytes > 0; }
  bool full() const {
    const auto quota = setting().quota_bytes;
    return quota > 0 && used_ + received_ >= quota;
  }
  TenantUse use();
  void change(const TenantSetting& setting);
  // It is no longer in the file: nothing is stored any more.
  void close() { closed_ = true; }
  // Asks the store: what it uses, and which series it has. `since`: of these.
  Result<> measure(std::chrono::nanoseconds since);

 private:
  // Whether it exists, the host may send so much, and the store may grow.
  Result<> admit(const std::string& host, std::uint64_t amount);
  TenantSetting setting() const {
    return setting_.with([](const TenantSetting& one) { return one; });
  }

  const std::string name_;
  Guarded<TenantSetting> setting_;
  std::unique_ptr<store::Store> store_;
  Configurations configurations_;
  Guarded<HostLimits> limits_;
  SeriesQuota series_;
  std::atomic<bool> closed_{false};
  std::atomic<std::uint64_t> used_{0};      // bytes, when they were measured
  std::atomic<std::uint64_t> received_{0};  // since then
  std::atomic<std::uint64_t> refused_batches_{0}, refused_requests_{0};
  Committer committer_;  // last: ends first
};

struct TenantsSetting {
  std::string store{};  // as --store
  std::string file{};   // empty: one tenant
  store::QueryLimits limits{};
  TenantSetting usual{};  // without a name
  Committer::OnStored on_stored{};
};

class Tenants {
 public:
  static Result<std::unique_ptr<Tenants>> open(TenantsSetting setting);

  bool several() const { return !setting_.file.empty(); }
  // Whether the stores can be written and read.
  Result<> ready() const;
  // Of all of them: for who runs the server.
  std::vector<TenantUse> uses() const;
  // About once a second: the file when it has changed, and from time to time a store that could
  // not be opened. A failure keeps the tenants that were there.
  Result<> refresh(TraceTime now = TraceClock::now());
  static constexpr std::chrono::seconds kTryAgain{10};  // to open a store
  // About once a second: what hosts have said.
  void flush();
  // Every few seconds: how much those use that have a quota.
  void measure();
  // Once a minute: retention.
  void maintain(WallTime now);

 private:
  friend struct Access;
  // Null: there is none of that name. Lives as long as this.
  Tenant* find(std::string_view name) const;

  explicit Tenants(TenantsSetting setting) : setting_(std::move(setting)) {}
  static void measure(Tenant& tenant, std::chrono::nanoseconds since);
  Result<> apply(const std::vector<TenantSetting>& wanted);
  std::vector<Tenant*> present() const;

  const TenantsSetting setting_;
  struct State {
    std::string text{};                                 // of the file
    std::optional<TraceTime> again{};                   // a store could not be opened: try then
    std::map<std::string, Tenant*, std::less<>> now{};  // that callers may reach
    // Also those that were taken out: streams of theirs may be open, and they may come back.
    std::map<std::string, std::unique_ptr<Tenant>, std::less<>> all{};
  };
  Guarded<State> state_;
};

}  // namespace clrscope::fleet
