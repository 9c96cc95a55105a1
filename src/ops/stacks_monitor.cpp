#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "inspect/answer.h"
#include "inspect/async/answer.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

bool is_managed(const Frame& frame) {
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
}

struct MethodParts {
  std::string_view type{};
  std::string_view name{};
  std::vector<std::string_view> parameters{};
};

// Where something is that does not stand between brackets; npos: nowhere.
std::size_t find_outside(std::string_view text, char wanted, bool last) {
  std::size_t found = std::string_view::npos;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && c == wanted) {
      found = i;
      if (!last) return found;
    }
    if (c == '<' || c == '[' || c == '(') ++depth;
    if ((c == '>' || c == ']' || c == ')') && depth > 0) --depth;
  }
  return found;
}

// "Shop.Cart.Add(int, string)": "Shop.Cart", "Add", its parameters.
MethodParts parts_of(std::string_view method) {
  MethodParts parts;
  const auto open = find_outside(method, '(', false);
  auto rest = open == std::string_view::npos ? std::string_view{}
                                             : method.substr(open + 1, method.size() - open - 2);
  const auto whole = method.substr(0, open);
  auto dot = find_outside(whole, '.', true);
  if (dot != std::string_view::npos && dot > 0 && whole[dot - 1] == '.') --dot;  // "..ctor"
  parts.name = dot == std::string_view::npos ? whole : whole.substr(dot + 1);
  if (dot != std::string_view::npos) parts.type = whole.substr(0, dot);
  while (!trim(rest).empty()) {
    const auto comma = find_outside(rest, ',', false);
    parts.parameters.push_back(trim(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return parts;
}

std::string module_file(const std::string& module) {
  return module.empty() || module.ends_with(".dll") || module.ends_with(".exe") ? module
                                                                                : module + ".dll";
}

struct MonitorFrame {
  std::string method_name{};
  std::uint32_t method_token = 0;
  std::vector<std::string> parameter_types{};
  std::string type_name{};
  std::string module_name{};
  std::string_view module_version_id = "00000000-0000-0000-0000-000000000000";
};
const Shape& shape_of(const MonitorFrame*) {
  using T = MonitorFrame;
  static const auto shape = clrscope::describe<T>(
      "MonitorFrame", "one entry of a stack, as dotnet-monitor describes it",
      {member<&T::method_name>("methodName", "method without its type"),
       member<&T::method_token>("methodToken", "always 0"),
       member<&T::parameter_types>("parameterTypes", "types of the parameters"),
       member<&T::type_name>("typeName", "type that declares the method"),
       member<&T::module_name>("moduleName", "file name of the assembly"),
       member<&T::module_version_id>("moduleVersionId", "always zeros")});
  return shape;
}

struct MonitorThread {
  std::uint32_t thread_id = 0;
  std::string thread_name{};
  std::vector<MonitorFrame> frames{};
};
const Shape& shape_of(const MonitorThread*) {
  using T = MonitorThread;
  static const auto shape =
      clrscope::describe<T>("MonitorThread", "a managed thread, as dotnet-monitor describes it",
                            {member<&T::thread_id>("threadId", "operating system's thread id"),
                             member<&T::thread_name>("threadName", "name of the thread"),
                             member<&T::frames>("frames", "managed frames, innermost first")});
  return shape;
}

struct MonitorStacks {
  std::vector<MonitorThread> stacks{};
  StacksAnswer ours{};
};
const Shape& shape_of(const MonitorStacks*) {
  using T = MonitorStacks;
  static const auto shape = clrscope::describe<T>(
      "MonitorStacks", "stacks as dotnet-monitor answers them, and clrscope's own",
      {member<&T::stacks>("stacks", "managed threads, as dotnet-monitor describes them"),
       members_of<&T::ours>()});
  return shape;
}

MonitorFrame monitor_frame(const Frame& frame) {
  const auto parts = parts_of(frame.method);
  return {.method_name = std::string{parts.name},
          .parameter_types = {parts.parameters.begin(), parts.parameters.end()},
          .type_name = std::string{parts.type},
          .module_name = module_file(frame.module)};
}

// https://www.speedscope.app/file-format-schema.json
struct SpeedscopeFrame {
  std::string name{};
};
const Shape& shape_of(const SpeedscopeFrame*) {
  static const auto shape = clrscope::describe<SpeedscopeFrame>(
      "SpeedscopeFrame", "a method", {member<&SpeedscopeFrame::name>("name", "module!method")});
  return shape;
}

struct SpeedscopeShared {
  std::vector<SpeedscopeFrame> frames{};
};
const Shape& shape_of(const SpeedscopeShared*) {
  static const auto shape = clrscope::describe<SpeedscopeShared>(
      "SpeedscopeShared", "data shared by all profiles",
      {member<&SpeedscopeShared::frames>("frames", "all frames")});
  return shape;
}

struct SpeedscopeProfile {
  std::string_view type = "sampled";
  std::string name{};
  std::string_view unit = "none";
  int start_value = 0;
  int end_value = 1;
  std::vector<std::vector<std::size_t>> samples{};
  std::vector<int> weights{1};
};
const Shape& shape_of(const SpeedscopeProfile*) {
  using T = SpeedscopeProfile;
  static const auto shape = clrscope::describe<T>(
      "SpeedscopeProfile", "one thread",
      {member<&T::type>("type", "always sampled"), member<&T::name>("name", "thread"),
       member<&T::unit>("unit", "unit of the weights"),
       member<&T::start_value>("startValue", "always 0"),
       member<&T::end_value>("endValue", "always 1"),
       member<&T::samples>("samples", "one stack, outermost frame first"),
       member<&T::weights>("weights", "weight of each sample")});
  return shape;
}

struct SpeedscopeFile {
  std::string_view schema = "https://www.speedscope.app/file-format-schema.json";
  std::string name{};
  std::string_view exporter = "clrscope";
  int active_profile = 0;
  SpeedscopeShared shared{};
  std::vector<SpeedscopeProfile> profiles{};
};
const Shape& shape_of(const SpeedscopeFile*) {
  using T = SpeedscopeFile;
  static const auto shape = clrscope::describe<T>(
      "SpeedscopeFile", "stacks as a speedscope file",
      {member<&T::schema>("$schema", "address of the file format"),
       member<&T::name>("name", "process"), member<&T::exporter>("exporter", "always clrscope"),
       member<&T::active_profile>("activeProfileIndex", "profile shown first"),
       member<&T::shared>("shared", "data shared by all profiles"),
       member<&T::profiles>("profiles", "one profile per thread")});
  return shape;
}

}  // namespace

const ValueShape& stacks_monitor_shape() { return value_shape<MonitorStacks>(); }

const ValueShape& stacks_route_shape() {
  static const ValueShape value{.kind = ValueShape::Kind::kAlternatives,
                                .alternatives = []() -> std::span<const ValueShape> {
                                  static const std::vector<ValueShape> all{
                                      stacks_monitor_shape(),
                                      value_shape<inspect::AsyncStacksAnswer>()};
                                  return all;
                                },
                                .write = nullptr};
  return value;
}

std::string stacks_monitor_json(const Snapshot& seen) {
  MonitorStacks answer{.ours = answer_of(seen)};
  for (const auto& thread : seen.threads) {
    if (!thread.runtime) continue;  // only threads that the runtime knows
    MonitorThread one{.thread_id = thread.os_id(), .thread_name = name_of(thread)};
    for (const auto& frame : thread.frames)
      if (is_managed(frame)) one.frames.push_back(monitor_frame(frame));
    answer.stacks.push_back(std::move(one));
  }
  return json_line(answer);
}

std::string stacks_speedscope(const Snapshot& seen) {
  SpeedscopeFile file{.name = fmt::format("{} ({})", seen.name, seen.pid)};
  std::map<std::string, std::size_t> ids;
  const auto id_of = [&](const Frame& frame) {
    const auto name = frame.method.empty() ? fmt::format("{}!{:#x}", frame.module, frame.pc)
                                           : frame.module + "!" + frame.method;
    const auto [at, is_new] = ids.emplace(name, ids.size());
    if (is_new) file.shared.frames.push_back({name});
    return at->second;
  };
  for (const auto& thread : seen.threads) {
    if (thread.frames.empty()) continue;
    SpeedscopeProfile profile{
        .name = fmt::format("Thread ({:#x}) {}", thread.os_id(), name_of(thread))};
    auto& stack = profile.samples.emplace_back();
    for (auto frame = thread.frames.rbegin(); frame != thread.frames.rend(); ++frame)
      stack.push_back(id_of(*frame));
    file.profiles.push_back(std::move(profile));
  }
  return json_line(file);
}

}  // namespace clrscope::ops
