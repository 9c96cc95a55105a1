// Any bytes as a trace: whole and in pieces, every stack looked at, and converted to version 6,
// which must then hold the same number of events and tell the damage of what it was made from, and
// no other.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "nettrace/convert.h"
#include "nettrace/reader.h"

using namespace clrscope;
using namespace clrscope::nettrace;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::uint64_t kMostDamaged = 1'000'000'000;  // that a converted trace tells

struct Outcome {
  bool ok = true;
  std::uint64_t events = 0;
  std::uint64_t sum = 0;  // of everything an event points to, so that it is touched
};

Outcome read(Bytes input, std::size_t piece) {
  Outcome outcome;
  Reader reader;
  const auto on_batch = [&](const Batch& batch) {
    for (const auto& event : batch.events) {
      ++outcome.events;
      outcome.sum += event.type->provider.size() + event.type->fields.size();
      for (const auto byte : event.payload) outcome.sum += byte;
      if (event.activity) outcome.sum += event.activity->bytes[15];
      if (event.related) outcome.sum += event.related->bytes[15];
      if (event.labels) outcome.sum += event.labels->texts.size();
      const auto stack = reader.stack(event.stack);
      for (std::size_t i = 0; i < stack.size(); ++i) outcome.sum += stack[i];
    }
  };
  while (!input.empty() && outcome.ok) {
    const auto now = input.first(std::min(piece, input.size()));
    outcome.ok = reader.feed(now, on_batch).has_value();
    input = input.subspan(now.size());
  }
  if (outcome.ok) outcome.ok = reader.finish(on_batch).has_value();
  require(reader.summary().events == outcome.events);
  require(!outcome.ok || reader.summary().ended || reader.summary().truncated);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input{data, size};
  const auto whole = read(input, size + 1);
  const auto pieces = read(input, 1 + size / 7);
  require(whole.ok == pieces.ok && whole.events == pieces.events && whole.sum == pieces.sum);

  std::string converted;
  Converter converter{[&](Bytes bytes) -> Result<> {
    converted += as_text(bytes);
    return {};
  }};
  const bool ok = converter.feed(input).has_value() && converter.finish().has_value();
  require(ok == whole.ok);
  if (!ok) return 0;
  Reader reader;
  const auto ignore = [](const Batch&) {};
  require(reader.feed(as_bytes(converted), ignore).has_value());
  require(reader.finish(ignore).has_value());
  const auto& source = converter.reader().summary();
  require(reader.summary().ended && reader.summary().truncated == source.truncated);
  require(reader.summary().damaged == std::min(source.damaged, kMostDamaged));
  require(reader.summary().events == whole.events);
  require(reader.summary().lost == converter.writer()->summary().lost);
  return 0;
}
