#include "fleet/pprof.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/gzip.h"
#include "base/proto_writer.h"
#include "base/text.h"

namespace clrscope::fleet {
namespace {

constexpr std::uint64_t kMostFrames = 20'000'000;

// The table of texts: the first is empty, as the format requires.
class Texts {
 public:
  Texts() { number(""); }
  std::uint64_t number(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) texts_.text(6, text);
    return at->second;
  }
  const std::string& bytes() const { return texts_.bytes(); }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  ProtoWriter texts_;
};

ProtoWriter value_type(Texts& texts, const std::string& type, const std::string& unit) {
  ProtoWriter out;
  out.varint(1, texts.number(type));
  out.varint(2, texts.number(unit));
  return out;
}

// What was selected, as `pprof -comments` shows it.
std::vector<std::string> comments_of(const store::Flame& flame, const store::FlameQuery& query) {
  const auto& selection = query.selection;
  std::vector<std::string> all{fmt::format("service: {}", selection.service)};
  for (const auto& [name, value] : {std::pair{"route", &selection.route},
                                    {"host", &selection.host},
                                    {"version", &selection.version}})
    if (!value->empty()) all.push_back(fmt::format("{}: {}", name, *value));
  if (selection.status_from > 0 || selection.status_to != ~0U)
    all.push_back(fmt::format("status: {}-{}", selection.status_from, selection.status_to));
  if (query.from_percentile > 0 || query.to_percentile < 100)
    all.push_back(fmt::format("percentiles: {}-{}", query.from_percentile, query.to_percentile));
  all.push_back(fmt::format("requests: {}", flame.requests));
  return all;
}

}  // namespace

Result<std::string> pprof_of(const store::Flame& flame, const store::FlameQuery& query) {
  // The format has the whole stack of each node.
  std::uint64_t frames = 0;
  for (const auto depth : flame.depth) frames += depth + 1;
  if (frames > kMostFrames)
    return fail(Errc::kTooLarge, "the stacks of this selection have {} frames, more than {}",
                format_count(frames), format_count(kMostFrames))
        .hint("choose a shorter time, a route or a band of percentiles");
  const bool cpu = query.weight == store::FlameWeight::kCpu;
  const std::string weight = cpu ? "cpu" : "running";
  Texts texts;
  ProtoWriter out;
  out.message(1, value_type(texts, cpu ? "samples" : "calls", "count"));
  out.message(1, value_type(texts, weight, "nanoseconds"));
  std::vector<std::uint64_t> open;  // locations from the root to the node
  for (std::size_t i = 0; i < flame.name.size(); ++i) {
    open.resize(flame.depth[i]);
    open.push_back(flame.name[i] + 1);
    if (flame.calls[i] == 0 && flame.self_ns[i] == 0) continue;  // a caller that was not measured
    ProtoWriter locations, values, sample;
    for (auto at = open.rbegin(); at != open.rend(); ++at) locations.append_varint(*at);
    values.append_varint(flame.calls[i]);
    values.append_varint(flame.self_ns[i]);
    sample.message(1, locations);
    sample.message(2, values);
    out.message(2, sample);
  }
  // One mapping whose functions are known: viewers look for no symbols.
  ProtoWriter mapping;
  mapping.varint(1, 1);
  mapping.varint(5, texts.number(query.selection.service));
  mapping.boolean(7, true);
  out.message(3, mapping);
  for (std::size_t i = 0; i < flame.names.size(); ++i) {
    ProtoWriter line, location, function;
    line.varint(1, i + 1);
    location.varint(1, i + 1);
    location.varint(2, 1);
    location.message(4, line);
    out.message(4, location);
    function.varint(1, i + 1);
    function.varint(2, texts.number(flame.names[i]));
    function.varint(3, texts.number(flame.names[i]));
    out.message(5, function);
  }
  const auto& range = query.selection.range;
  if (range.from > 0) out.varint(9, static_cast<std::uint64_t>(range.from));
  if (range.from > 0 && range.to < std::numeric_limits<std::int64_t>::max())
    out.varint(10, static_cast<std::uint64_t>(range.to - range.from));
  out.message(11, value_type(texts, weight, "nanoseconds"));
  out.varint(12, 1);
  for (const auto& comment : comments_of(flame, query)) out.varint(13, texts.number(comment));
  out.varint(14, texts.number(weight));
  auto bytes = std::move(out).take();
  bytes += texts.bytes();  // fields may come in any order
  return gzip(as_bytes(bytes));
}

}  // namespace clrscope::fleet
