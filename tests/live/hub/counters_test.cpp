// Counters and meters of real runtimes while sessions are replaced.
#include <gmock/gmock.h>

#include <cmath>

#include "collect/eventpipe/live_source.h"
#include "hub/hub.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

class ValuesSink final : public hub::Sink {
 public:
  using Shared = std::shared_ptr<Guarded<std::vector<hub::CounterValue>>>;
  explicit ValuesSink(Shared values) : values_(std::move(values)) {}
  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    values_->with([&](auto& all) { all.insert(all.end(), values.begin(), values.end()); });
    return {};
  }

 private:
  Shared values_;
};

struct Ear {
  hub::ListenerId id{};
  ValuesSink::Shared values = std::make_shared<Guarded<std::vector<hub::CounterValue>>>();

  std::vector<hub::CounterValue> of(const std::string& name) const {
    return values->with([&](const auto& all) {
      std::vector<hub::CounterValue> some;
      for (const auto& value : all)
        if (value.name == name) some.push_back(value);
      return some;
    });
  }
};

Ear listen(hub::Hub& hub, hub::SessionRequest request) {
  Ear ear;
  auto id = hub.add(std::move(request), std::make_unique<ValuesSink>(ear.values));
  EXPECT_TRUE(id) << (id ? "" : id.error().what);
  if (id) ear.id = *id;
  return ear;
}

class CountersTest : public LiveTest {};

TEST_P(CountersTest, KeepTheirSumsWhileSessionsAreReplaced) {
  const auto target = start_ready({"meters", "--seconds", "120"});
  ASSERT_FALSE(HasFailure());
  hub::Hub hub{std::chrono::hours{1}};
  ASSERT_TRUE(
      hub.attach(collect::make_live_source({.id = 1,
                                            .pid = target->pid(),
                                            .process = "samples",
                                            .runtime = std::to_string(major_version()) + ".0.0"},
                                           target->endpoint())));
  const auto bytes =
      listen(hub, {.counters = {{.provider = "Clrscope.Samples", .names = {"samples.bytes"}}}});
  const auto slow = listen(
      hub, {.counters = {{.provider = "Clrscope.Samples"}}, .interval = std::chrono::seconds{3}});
  const auto runtime =
      listen(hub, {.counters = {{.provider = "System.Runtime",
                                 .kind = hub::CounterRequest::Kind::kEventCounters}}});
  ASSERT_TRUE(hub.consolidate());
  EXPECT_EQ(hub.processes().front().sessions, 1U);
  for (std::size_t seconds = 2; seconds < 8; seconds += 2) {
    const auto guest = listen(hub, {.providers = {{.name = "Clrscope-Samples", .keywords = 1}}});
    ASSERT_TRUE(hub.consolidate());
    EXPECT_EQ(hub.processes().front().sessions, 1U);
    ASSERT_TRUE(eventually([&] { return bytes.of("samples.bytes").size() >= seconds; }));
    hub.remove(guest.id);
    ASSERT_TRUE(hub.consolidate());
  }
  ASSERT_TRUE(eventually([&] { return runtime.of("alloc-rate").size() >= 4; }));
  ASSERT_TRUE(eventually([&] { return slow.of("samples.bytes").size() >= 2; }));
  EXPECT_GE(hub.processes().front().switches, 7U);
  for (const auto* ear : {&bytes, &slow, &runtime}) hub.remove(ear->id);
  // Nothing doubled, nothing missing: each total is the one before and the growth since.
  for (const auto* ear : {&bytes, &slow}) {
    const auto values = ear->of("samples.bytes");
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (!values[i].total || !values[i - 1].total) continue;
      EXPECT_NEAR(*values[i].total, *values[i - 1].total + values[i].value, 1) << i;
    }
  }
  for (const auto& value : slow.of("samples.bytes"))
    EXPECT_GT(value.interval, std::chrono::milliseconds{2500});
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CountersTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
