#include "nettrace/payload_table.h"

#include <gtest/gtest.h>

#include <set>

#include "nettrace/payload_plan.h"

namespace clrscope::nettrace {
namespace {

TEST(EventTable, KnowsTheProvidersByName) {
  for (const auto* name :
       {"Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown",
        "Microsoft-Windows-DotNETRuntimePrivate", "Microsoft-DotNETCore-SampleProfiler",
        "System.Threading.Tasks.TplEventSource", "System.Diagnostics.Eventing.FrameworkEventSource",
        "Microsoft-Diagnostics-DiagnosticSource", "System.Diagnostics.Metrics",
        "Microsoft.AspNetCore.Hosting", "Microsoft-AspNetCore-Server-Kestrel", "Universal.System",
        "Universal.Events"})
    EXPECT_NE(event_table().provider(name), nullptr) << name;
  EXPECT_EQ(event_table().provider("Nobody"), nullptr);
}

TEST(EventTable, EveryLineMakesAPlanForBothPointerSizes) {
  std::size_t events = 0;
  for (const auto& provider : event_table().providers()) {
    EXPECT_EQ(provider.guid.size(), 36U) << provider.name;
    for (const auto& event : provider.events) {
      ++events;
      for (const std::uint32_t pointer_size : {4U, 8U}) {
        const auto specs = specs_of(event, pointer_size);
        const auto plan = PlanBuilder::build(specs, Schema::kTable);
        ASSERT_TRUE(plan.has_value()) << provider.name << ' ' << event.symbol;
        for (const auto& field : plan->fields())
          EXPECT_FALSE(field.name.empty()) << provider.name << ' ' << event.symbol;
      }
    }
  }
  EXPECT_GT(events, 450U);
}

TEST(EventTable, EveryNameOfValuesThatAFieldUsesExists) {
  for (const auto& provider : event_table().providers()) {
    for (const auto& event : provider.events) {
      for (auto rest = event.fields; !rest.empty();) {
        const auto end = std::min(rest.find_first_of(" {}["), rest.size());
        const auto word = rest.substr(0, end);
        const auto last = word.rfind(':');
        if (last != std::string_view::npos && word.find_first_of(":=") < last) {
          EXPECT_NE(event_table().names(word.substr(last + 1)), nullptr) << word;
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  }
}

TEST(EventTable, TakesTheHighestVersionItKnowsForALaterOne) {
  const auto& table = event_table();
  const auto* event = table.find("Microsoft-Windows-DotNETRuntime", 1, 9);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->symbol, "GCStart_V2");
  EXPECT_EQ(event->name, "GC/Start");
  EXPECT_EQ(event->keywords, 1U);
  EXPECT_EQ(event->level, 4);
  EXPECT_EQ(table.find("Microsoft-Windows-DotNETRuntime", 1, 0)->symbol, "GCStart");
  // Only version 2 and later are known of this one.
  EXPECT_EQ(table.find("Microsoft-Windows-DotNETRuntime", 205, 0)->symbol,
            "GCGlobalHeapHistory_V2");
  EXPECT_EQ(table.find("Microsoft-Windows-DotNETRuntime", 9999, 0), nullptr);
}

TEST(EventTable, FindsEventsWithoutStableIdsByName) {
  const auto* event = event_table().find("Universal.Events", 17, 0, "cswitch");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "cswitch");
}

TEST(EventTable, SaysEachEventOnce) {
  std::set<std::string> seen;
  for (const auto& provider : event_table().providers())
    for (const auto& event : provider.events)
      EXPECT_TRUE(seen.insert(std::string{provider.name} + " " + std::string{event.id_text} + " " +
                              std::to_string(event.version))
                      .second)
          << provider.name << ' ' << event.symbol;
}

}  // namespace
}  // namespace clrscope::nettrace
