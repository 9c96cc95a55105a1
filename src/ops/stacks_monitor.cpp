#include <fmt/format.h>

#include <map>

#include "base/json.h"
#include "base/text.h"
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

std::string thread_name(const ThreadView& thread) {
  return thread.runtime && !thread.runtime->name.empty() ? thread.runtime->name : thread.os.name;
}

void write_monitor_frame(JsonWriter& json, const Frame& frame) {
  const auto parts = parts_of(frame.method);
  json.begin_object().member("methodName", parts.name).member("methodToken", 0);
  json.key("parameterTypes").begin_array();
  for (const auto type : parts.parameters) json.value(type);
  json.end_array()
      .member("typeName", parts.type)
      .member("moduleName", module_file(frame.module))
      .member("moduleVersionId", "00000000-0000-0000-0000-000000000000")
      .end_object();
}

}  // namespace

std::string stacks_monitor_json(const Snapshot& seen) {
  JsonWriter json;
  json.begin_object().key("stacks").begin_array();
  for (const auto& thread : seen.threads) {
    if (!thread.runtime) continue;  // only threads that the runtime knows
    json.begin_object()
        .member("threadId", thread.os_id())
        .member("threadName", thread_name(thread))
        .key("frames")
        .begin_array();
    for (const auto& frame : thread.frames)
      if (is_managed(frame)) write_monitor_frame(json, frame);
    json.end_array().end_object();
  }
  json.end_array();
  write_stacks(json, seen);
  json.end_object();
  return std::move(json).take() + "\n";
}

std::string stacks_speedscope(const Snapshot& seen) {
  std::map<std::string, std::size_t> ids;
  std::vector<const std::string*> names;
  const auto id_of = [&](const Frame& frame) {
    const auto name = frame.method.empty() ? fmt::format("{}!{:#x}", frame.module, frame.pc)
                                           : frame.module + "!" + frame.method;
    const auto [at, is_new] = ids.emplace(name, ids.size());
    if (is_new) names.push_back(&at->first);
    return at->second;
  };
  JsonWriter profiles;
  profiles.begin_array();
  for (const auto& thread : seen.threads) {
    if (thread.frames.empty()) continue;
    profiles.begin_object()
        .member("type", "sampled")
        .member("name", fmt::format("Thread ({:#x}) {}", thread.os_id(), thread_name(thread)))
        .member("unit", "none")
        .member("startValue", 0)
        .member("endValue", 1)
        .key("samples")
        .begin_array()
        .begin_array();
    for (auto frame = thread.frames.rbegin(); frame != thread.frames.rend(); ++frame)
      profiles.value(id_of(*frame));
    profiles.end_array().end_array().key("weights").begin_array().value(1).end_array().end_object();
  }
  profiles.end_array();
  JsonWriter frames;
  frames.begin_object().key("frames").begin_array();
  for (const auto* name : names) frames.begin_object().member("name", *name).end_object();
  frames.end_array().end_object();
  JsonWriter about;
  about.value(fmt::format("{} ({})", seen.name, seen.pid));
  return "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":" +
         about.text() +
         ",\"exporter\":\"clrscope\",\"activeProfileIndex\":0,\"shared\":" + frames.text() +
         ",\"profiles\":" + profiles.text() + "}\n";
}

}  // namespace clrscope::ops
