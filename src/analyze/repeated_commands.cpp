#include "analyze/repeated_commands.h"

#include <algorithm>
#include <tuple>

#include "analyze/call_kinds.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kMostCommands = 100'000;
constexpr std::size_t kMostText = 4'000;
// A loop sends the next command soon after the last; what comes later is another loop.
constexpr std::chrono::milliseconds kSuccession{250};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '@' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

std::uint64_t longest_succession(std::vector<TraceTime>& times) {
  std::ranges::sort(times);
  std::uint64_t most = 0, now = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    now = i > 0 && between(times[i - 1], times[i]) <= kSuccession ? now + 1 : 1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

std::string without_literals(std::string_view command) {
  std::string out;
  for (std::size_t i = 0; i < command.size();) {
    const char c = command[i];
    if (c == '\'') {  // a quote within is doubled: two literals next to each other
      const auto end = command.find('\'', i + 1);
      if (!out.ends_with('?')) out += '?';
      i = end == std::string_view::npos ? command.size() : end + 1;
    } else if (is_digit(c) && (i == 0 || !is_word(command[i - 1]))) {
      while (i < command.size() && (is_word(command[i]) || command[i] == '.')) ++i;
      out += '?';
    } else {
      out += c;
      ++i;
    }
  }
  return out;
}

RepeatedCommands::RepeatedCommands() : ProviderReader(kDiagnosticSourceProvider) {}

void RepeatedCommands::on_event(const nettrace::Reader& reader, const Event& event) {
  const auto& plan = trace_->plans.of(event);
  const auto call = read_database_call(event, plan);
  if (call.phase != CallEvent::Phase::kBegin || trace_->commands >= kMostCommands) return;
  auto work = bridge_argument(event, plan, "TraceId");
  if (work.find_first_not_of('0') == std::string::npos)
    work = bridge_argument(event, plan, "ContextId");
  if (work.empty()) return;  // whose it is cannot be told
  ++trace_->commands;
  const auto text = without_literals(std::string_view{call.what}.substr(0, kMostText));
  trace_->sent[{std::move(work), texts_.intern(text), trace_->sites.stack_of(reader, event)}]
      .push_back(event.time);
}

void RepeatedCommands::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (!trace_) return;
  // One place has several stacks: before and after the first await, say.
  using AtCaller = std::tuple<std::string_view, StringId, FrameId>;
  std::map<AtCaller, std::vector<TraceTime>> sent;
  std::map<StackId, FrameId> callers;
  for (const auto& [key, times] : trace_->sent) {
    const auto [at, is_new] = callers.try_emplace(key.stack);
    if (is_new) at->second = trace_->sites.caller(key.stack);
    auto& together = sent[{key.work, key.text, at->second}];
    together.insert(together.end(), times.begin(), times.end());
  }
  std::map<std::pair<StringId, FrameId>, RepeatedCommand> all;
  for (auto& [key, times] : sent) {
    const auto& [work, text, caller] = key;
    auto& one = all[{text, caller}];
    one.caller = caller;
    ++one.units;
    one.commands += times.size();
    one.most = std::max(one.most, longest_succession(times));
  }
  for (auto& [key, one] : all) {
    one.text = texts_.text(key.first);
    ranked_.push_back(std::move(one));
  }
  std::ranges::stable_sort(ranked_, std::greater{}, &RepeatedCommand::most);
  trace_.reset();
}

}  // namespace clrscope::analyze
