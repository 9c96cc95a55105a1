#include "analyze/symbolizer.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

// Hands all events of a trace to a symbolizer.
struct Names {
  Symbolizer& symbols;
  Providers providers{};

  void on_batch(const nettrace::Reader&, const nettrace::Batch& batch) {
    for (const Event& event : batch.events) symbols.on_event(event, providers.of(*event.type));
  }
  void end_of_trace() {}
};

TEST(Symbolizer, KeepsOnlyTheMethodsOfWantedAddresses) {
  TestTrace trace;
  trace.method(kRundownName, 144, {.time = 1}, 0x1000, 0x100, "Shop.Cart", "Total");
  trace.method(kRundownName, 144, {.time = 2}, 0x2000, 0x100, "Shop.Cart", "Unseen");
  trace.method(kRundownName, 144, {.time = 3}, 0x3000, 0x100, "Shop.Cart", "Fails");

  FrameTable frames;
  Symbolizer symbols{frames};
  symbols.keep_only({0x1040, 0x3100});  // the second is returned to after the end of its method
  Names names{symbols};
  trace.read_into(names);

  const auto name = [&](std::uint64_t address, AddressKind kind) {
    const auto id = symbols.frame(ProcessId{100}, address, TraceTime{}, kind);
    return frames.frame(id).method;
  };
  EXPECT_EQ(name(0x1040, AddressKind::kExact), "Shop.Cart.Total()");
  EXPECT_EQ(name(0x3100, AddressKind::kReturn), "Shop.Cart.Fails()");
  EXPECT_NE(name(0x2040, AddressKind::kExact), "Shop.Cart.Unseen()");
}

}  // namespace
}  // namespace clrscope::analyze
