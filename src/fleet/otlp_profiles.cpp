#include "fleet/otlp_profiles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/proto_writer.h"
#include "fleet/otlp_spans.h"

namespace clrscope::fleet {
namespace {

// Tables of the dictionary, by field.
enum Table : std::uint32_t {
  kMappings = 1,
  kLocations = 2,
  kFunctions = 3,
  kLinks = 4,
  kTexts = 5,
  kAttributes = 6,
  kStacks = 7,
};

// All tables begin with an empty element: 0 means none.
class Dictionary {
 public:
  Dictionary() {
    for (const auto table :
         {kMappings, kLocations, kFunctions, kLinks, kTexts, kAttributes, kStacks})
      out_.text(table, "");
  }

  std::uint64_t text(const std::string& value) {
    const auto [at, is_new] = texts_.try_emplace(value, texts_.size() + 1);
    if (is_new) out_.text(kTexts, value);
    return at->second;
  }
  // A method: its function and the one location in it have the same number.
  std::uint64_t method(const std::string& name) {
    const auto [at, is_new] = methods_.try_emplace(name, methods_.size() + 1);
    if (!is_new) return at->second;
    ProtoWriter function, line, location;
    function.varint(1, text(name));
    out_.message(kFunctions, function);
    line.varint(1, at->second);
    location.message(3, line);
    out_.message(kLocations, location);
    return at->second;
  }
  // The innermost first.
  std::uint64_t stack(const ProtoWriter& locations) {
    ProtoWriter stack;
    stack.message(1, locations);
    out_.message(kStacks, stack);
    return ++stacks_;
  }
  std::uint64_t link(std::string_view trace, std::string_view span) {
    ProtoWriter link;
    link.text(1, trace);
    link.text(2, span);
    out_.message(kLinks, link);
    return ++links_;
  }
  const ProtoWriter& written() const { return out_; }

 private:
  ProtoWriter out_;
  std::unordered_map<std::string, std::uint64_t> texts_, methods_;
  std::uint64_t stacks_ = 0, links_ = 0;
};

ProtoWriter value_type(Dictionary& dictionary, const std::string& type, const std::string& unit) {
  ProtoWriter out;
  out.varint(1, dictionary.text(type));
  out.varint(2, dictionary.text(unit));
  return out;
}

class Encoder {
 public:
  explicit Encoder(const store::Batch& batch) : batch_(batch), shift_(otlp_clock_shift(batch)) {}

  std::string run() && {
    std::size_t first = 0;
    for (std::size_t i = 0; i < batch_.requests.size(); ++i) {
      add(i, first);
      first += batch_.requests[i].samples;
    }
    ProtoWriter profile, scope, scope_profiles, resource_profiles, request;
    profile.message(1, value_type(dictionary_, "cpu", "nanoseconds"));
    for (const auto& [key, sample] : samples_) profile.message(2, written(key, sample));
    profile.fixed64(3, begin_);
    profile.varint(4, end_ - begin_);
    profile.text(7, otlp_span_id(batch_, batch_.requests.size(), 0) +
                        otlp_span_id(batch_, batch_.requests.size(), 1));
    scope.text(1, "clrscope");
    scope_profiles.message(1, scope);
    scope_profiles.message(2, profile);
    resource_profiles.text(1, otlp_resource(batch_.source));
    resource_profiles.message(2, scope_profiles);
    request.message(1, resource_profiles);
    request.message(2, dictionary_.written());
    return std::move(request).take();
  }

 private:
  struct Key {
    std::uint64_t stack = 0, link = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Sample {
    std::vector<std::uint64_t> values{}, times{};
  };

  void add(std::size_t number, std::size_t first) {
    const auto& request = batch_.requests[number];
    std::map<std::uint32_t, std::uint64_t> links;  // by span of the request
    for (auto at = first; at < first + request.samples; ++at) {
      const auto span = batch_.samples.span[at];
      auto& link = links[span];
      if (link == 0 && request.trace_id != TraceId{})
        link = dictionary_.link(
            {reinterpret_cast<const char*>(request.trace_id.data()), request.trace_id.size()},
            otlp_span_id(batch_, number, span));
      const auto time =
          static_cast<std::uint64_t>(request.begin + shift_) + batch_.samples.time[at];
      begin_ = std::min(begin_, time);
      end_ = std::max(end_, time);
      auto& sample = samples_[{stack_of(batch_.samples.stack[at]), link}];
      sample.values.push_back(batch_.samples.weight[at]);
      sample.times.push_back(time);
    }
  }

  std::uint64_t stack_of(std::uint32_t stack) {
    const auto [at, is_new] = stacks_.try_emplace(stack, 0);
    if (!is_new) return at->second;
    ProtoWriter locations;
    if (stack == 0) locations.append_varint(dictionary_.method("(unknown)"));
    for (; stack != 0; stack = batch_.stacks.parent[stack - 1])
      locations.append_varint(
          dictionary_.method(batch_.names[batch_.stacks.method[stack - 1] - 1]));
    return at->second = dictionary_.stack(locations);
  }

  static ProtoWriter written(const Key& key, const Sample& sample) {
    ProtoWriter out, values, times;
    out.varint(1, key.stack);
    if (key.link != 0) out.varint(3, key.link);
    for (const auto value : sample.values) values.append_varint(value);
    for (const auto time : sample.times) times.append(time);
    out.message(4, values);
    out.message(5, times);
    return out;
  }

  const store::Batch& batch_;
  const std::int64_t shift_;
  Dictionary dictionary_;
  std::map<Key, Sample> samples_;
  std::unordered_map<std::uint32_t, std::uint64_t> stacks_;  // by stack of the batch
  std::uint64_t begin_ = std::numeric_limits<std::uint64_t>::max(), end_ = 0;
};

}  // namespace

std::optional<std::string> otlp_profile(const store::Batch& batch) {
  if (batch.samples.weight.empty()) return {};
  return Encoder{batch}.run();
}

}  // namespace clrscope::fleet
