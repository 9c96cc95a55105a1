#include "fleet/tenants.h"

#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "store/tenant_store.h"

namespace clrscope::fleet {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

Result<std::uint64_t> count_of(std::string_view text) {
  const auto number = parse_number(text);
  if (!number) return fail(Errc::kUsage, "'{}' is not a number", text);
  return *number;
}

Result<> set_option(TenantSetting& tenant, std::string_view name, std::string_view value) {
  if (name == "retention") {
    tenant.retention.age = TRY(parse_duration(value));
    if (tenant.retention.age <= std::chrono::nanoseconds::zero())
      return fail(Errc::kUsage, "retention must be greater than zero");
  } else if (name == "max-size") {
    tenant.retention.max_bytes = TRY(parse_size(value));
  } else if (name == "quota") {
    tenant.quota_bytes = TRY(parse_size(value));
  } else if (name == "series") {
    tenant.quota_series = TRY(count_of(value));
  } else if (name == "host-limit") {
    tenant.host_limit = TRY(count_of(value));
  } else {
    return fail(Errc::kUsage, "unknown option '{}'", name);
  }
  return {};
}

Result<TenantSetting> parse_line(std::string_view line, const TenantSetting& usual) {
  auto tenant = usual;
  for (const auto word : split(line, ' ')) {
    if (word.empty()) continue;
    if (tenant.name.empty()) {
      if (!store::is_tenant_name(word))
        return fail(Errc::kUsage, "'{}' is not the name of a tenant", word);
      tenant.name = word;
      continue;
    }
    const auto equals = word.find('=');
    if (equals == std::string_view::npos)
      return fail(Errc::kUsage, "'{}' is not option=value", word);
    TRY(set_option(tenant, word.substr(0, equals), word.substr(equals + 1)));
  }
  return tenant;
}

}  // namespace

Result<std::vector<TenantSetting>> parse_tenants(std::string_view text,
                                                 const TenantSetting& usual) {
  std::vector<TenantSetting> tenants;
  std::size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto content = trim(line.substr(0, line.find('#')));
    if (content.empty()) continue;
    auto tenant = parse_line(content, usual);
    if (!tenant)
      return fail(Errc::kUsage, "line {} of the file of tenants: {}", number, tenant.error().what)
          .hint(
              "write NAME [retention=7d] [max-size=10GiB] [quota=20GiB] [series=1000] "
              "[host-limit=50000]; names are 1 to 32 of a-z, 0-9 and _, a letter first");
    for (const auto& other : tenants)
      if (other.name == tenant->name)
        return fail(Errc::kUsage, "line {} of the file of tenants: {} is there twice", number,
                    other.name);
    tenants.push_back(*std::move(tenant));
  }
  return tenants;
}

const Shape& shape_of(const TenantUse*) {
  using U = TenantUse;
  static const auto shape = describe<U>(
      "TenantUse", "what a tenant uses of what it may",
      {member<&U::tenant>("tenant", "name"),
       member<&U::retention>("retentionMs", "age at which its requests are deleted"),
       member<&U::bytes>("bytes", "of its store"),
       member<&U::quota_bytes>("quotaBytes", "at which its batches must wait; 0: none"),
       member<&U::series>("series", "services and routes of the last hour; 0 without a quota"),
       member<&U::quota_series>("quotaSeries", "beyond which new ones are refused; 0: none"),
       member<&U::refused_batches>("refusedBatches",
                                   "that had to wait for the quota of bytes, since the start"),
       member<&U::refused_requests>("refusedRequests",
                                    "lost by the quota of series, since the start"),
       member<&U::full>("full", "whether its batches must wait now")});
  return shape;
}

Tenant::Tenant(TenantSetting setting, std::unique_ptr<store::Store> store,
               Committer::OnStored on_stored)
    : name_(setting.name),
      setting_(std::move(setting)),
      store_(std::move(store)),
      configurations_(*store_),
      limits_(HostLimits{this->setting().host_limit}),
      committer_(*store_, std::move(on_stored)) {}

Result<> Tenant::admit(const std::string& host, std::uint64_t amount) {
  if (closed_) return fail(Errc::kDenied, "the tenant {} does not exist any more", name_);
  const bool allowed = limits_.with(
      [&](HostLimits& limits) { return limits.take(host, amount, TraceClock::now()); });
  if (!allowed) return fail(Errc::kBusy, "the host sends more than the server allows: retry later");
  const auto quota = setting().quota_bytes;
  if (const auto used = used_ + received_; quota > 0 && used >= quota) {
    ++refused_batches_;
    return fail(Errc::kNoRoom, "{}{} of its quota of {} are used: retry later",
                name_.empty() ? "" : "tenant " + name_ + ": ", format_bytes(used),
                format_bytes(quota));
  }
  return {};
}

Result<std::uint64_t> Tenant::take(store::Batch& batch, std::uint64_t bytes) {
  TRY(admit(batch.source.host,
            batch.requests.size() + batch.spans.method.size() + batch.samples.time.size()));
  received_ += bytes;
  return series_.apply(batch, setting().quota_series, TraceClock::now());
}

Result<> Tenant::take_spans(const std::string& host, std::uint64_t spans, std::uint64_t bytes) {
  TRY(admit(host, spans));
  received_ += bytes;
  return {};
}

TenantUse Tenant::use() {
  const auto setting = this->setting();
  const auto used = used_ + received_;
  return {.tenant = name_,
          .retention = setting.retention.age,
          .bytes = used,
          .quota_bytes = setting.quota_bytes,
          .series = series_.count(TraceClock::now()),
          .quota_series = setting.quota_series,
          .refused_batches = refused_batches_,
          .refused_requests = refused_requests_,
          .full = full()};
}

void Tenant::change(const TenantSetting& setting) {
  closed_ = false;
  const auto before = this->setting();
  if (before == setting) return;
  if (before.host_limit != setting.host_limit)
    limits_.with([&](HostLimits& limits) { limits = HostLimits{setting.host_limit}; });
  store_->set_retention(setting.retention);
  setting_.with([&](TenantSetting& one) { one = setting; });
}

Result<> Tenant::measure(std::chrono::nanoseconds since) {
  // What arrives meanwhile is counted twice until the next time: never less than there is.
  const auto before = received_.load();
  used_ = TRY(store_->used_bytes());
  received_ -= before;
  if (since <= std::chrono::nanoseconds::zero() || setting().quota_series == 0) return {};
  const auto now = TraceClock::now();
  const store::TimeRange range{.from = (wall_now() - since).time_since_epoch().count()};
  for (const auto& service : TRY(store_->services(range)))
    for (const auto& route : TRY(store_->routes({.range = range, .service = service.service}, {})))
      series_.note(service.service, route.route, now);
  return {};
}

Result<std::unique_ptr<Tenants>> Tenants::open(TenantsSetting setting) {
  std::unique_ptr<Tenants> tenants{new Tenants{std::move(setting)}};  // its constructor is private
  if (tenants->several())
    TRY(tenants->refresh());
  else
    TRY(tenants->apply({tenants->setting_.usual}));
  return tenants;
}

Result<> Tenants::refresh(TraceTime now) {
  if (!several()) return {};
  const auto text = TRY(read_file(setting_.file, kLargestFile));
  if (state_.with([&](const State& state) {
        return state.text == text && !state.all.empty() && !(state.again && now >= *state.again);
      }))
    return {};
  // Also when it is wrong: once is enough to say so.
  state_.with([&](State& state) {
    state.text = text;
    state.again.reset();
  });
  const auto wanted = TRY(parse_tenants(text, setting_.usual));
  if (wanted.empty())
    return fail(Errc::kUsage, "{} names no tenant", setting_.file)
        .hint("write a name on a line of its own");
  auto applied = apply(wanted);
  if (!applied) state_.with([&](State& state) { state.again = now + kTryAgain; });
  return applied;
}

Result<> Tenants::apply(const std::vector<TenantSetting>& wanted) {
  std::map<std::string, Tenant*, std::less<>> now;
  Result<> outcome;
  for (const auto& one : wanted) {
    auto* tenant = state_.with([&](State& state) -> Tenant* {
      const auto found = state.all.find(one.name);
      return found == state.all.end() ? nullptr : found->second.get();
    });
    if (tenant == nullptr) {  // opening may take long: not under the lock
      auto where = one.name.empty() ? Result<std::string>{setting_.store}
                                    : store::tenant_store(setting_.store, one.name);
      auto store = where ? store::open_store(*where, one.retention, setting_.limits)
                         : Result<std::unique_ptr<store::Store>>{fail(where.error())};
      if (!store) {
        outcome = fail(store.error());
        continue;
      }
      auto made = std::make_unique<Tenant>(one, *std::move(store), setting_.on_stored);
      tenant = made.get();
      if (const auto done = tenant->measure(SeriesQuota::kKept); !done) log_error(done.error());
      state_.with([&](State& state) { state.all[one.name] = std::move(made); });
    }
    tenant->change(one);
    now[one.name] = tenant;
  }
  state_.with([&](State& state) {
    for (const auto& [name, tenant] : state.now)
      if (!now.contains(name)) tenant->close();
    state.now = std::move(now);
  });
  return outcome;
}

Tenant* Tenants::find(std::string_view name) const {
  return state_.with([&](const State& state) -> Tenant* {
    const auto found = state.now.find(name);
    return found == state.now.end() ? nullptr : found->second;
  });
}

std::vector<Tenant*> Tenants::present() const {
  return state_.with([](const State& state) {
    std::vector<Tenant*> tenants;
    for (const auto& [name, tenant] : state.now) tenants.push_back(tenant);
    return tenants;
  });
}

Result<> Tenants::ready() const {
  for (auto* tenant : present()) TRY(tenant->store().ready());
  return {};
}

std::vector<TenantUse> Tenants::uses() const {
  std::vector<TenantUse> uses;
  for (auto* tenant : present()) uses.push_back(tenant->use());
  return uses;
}

void Tenants::flush() {
  for (auto* tenant : present())
    if (const auto done = tenant->configurations().flush(); !done)
      log(LogLevel::kDebug, "cannot note what hosts have: {}", done.error().what);
}

void Tenants::measure() {
  for (auto* tenant : present())
    if (tenant->has_byte_quota()) measure(*tenant, {});
}

void Tenants::measure(Tenant& tenant, std::chrono::nanoseconds since) {
  if (const auto done = tenant.measure(since); !done)
    log(LogLevel::kDebug, "cannot measure the store: {}", done.error().what);
}

void Tenants::maintain(WallTime now) {
  // Other servers of the same store have added series too.
  constexpr std::chrono::minutes kLately{2};
  for (auto* tenant : present()) {
    const auto note = [](const Result<>& done) {
      if (!done && store::check_cancelled()) log_error(done.error());  // else the server ends
    };
    note(tenant->store().expire(now));
    note(tenant->store().compact(now));
    measure(*tenant, kLately);
  }
}

}  // namespace clrscope::fleet
