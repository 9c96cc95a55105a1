#include "analyze/process_names.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/provider_names.h"
#include "symbols/method_name.h"

namespace clrscope::analyze {

std::optional<ProcessInfo> process_info(const Event& event) {
  if (event.type->name != "ProcessInfo" || event.type->provider != kEventPipeProvider)
    return std::nullopt;
  ByteReader in{event.payload};
  ProcessInfo info;
  info.command_line = utf8_of(in.take_utf16z());
  info.system = utf8_of(in.take_utf16z());
  info.architecture = utf8_of(in.take_utf16z());
  return info;
}

std::string name_of_command(std::string_view command_line) {
  std::string host;
  for (const auto word : split(command_line, ' ')) {
    if (word.empty()) continue;
    auto name = module_name(word);
    if (name != "dotnet" && (host.empty() || word.ends_with(".dll"))) return name;
    if (host.empty()) host = name;
  }
  return host;
}

std::optional<std::string> process_name(const Event& event) {
  const auto info = process_info(event);
  if (!info) return std::nullopt;
  return name_of_command(info->command_line);
}

std::optional<std::string> runtime_version(const Event& event, Provider provider) {
  constexpr std::uint32_t kRuntimeStart = 187;
  if ((provider != Provider::kRuntime && provider != Provider::kRundown) ||
      event.type->id != kRuntimeStart)
    return std::nullopt;
  ByteReader in{event.payload};
  in.skip(4);  // instance, kind of runtime
  const auto major = in.read<std::uint16_t>();
  const auto minor = in.read<std::uint16_t>();
  const auto build = in.read<std::uint16_t>();
  if (!in.ok() || major < 5) return std::nullopt;  // earlier ones all say 4.0
  return fmt::format("{}.{}.{}", major, minor, build);
}

namespace {

struct UniversalProcess {
  std::string name{};
  std::string container{};
};

std::optional<UniversalProcess> universal_process(const Event& event, Provider provider) {
  constexpr std::uint32_t kProcessCreate = 1;  // 0 is ExistingProcess
  if (provider != Provider::kUniversalSystem || event.type->id > kProcessCreate)
    return std::nullopt;
  ByteReader in{event.payload};
  in.read_varuint();  // its number in its own namespace
  UniversalProcess process;
  process.name = as_text(in.take(in.read<std::uint16_t>()));
  if (!in.ok()) return std::nullopt;
  process.container = as_text(in.take(in.read<std::uint16_t>()));  // empty when it is cut off
  return process;
}

}  // namespace

std::optional<std::string> universal_process_name(const Event& event, Provider provider) {
  auto process = universal_process(event, provider);
  if (!process) return std::nullopt;
  return std::move(process->name);
}

std::optional<std::string> universal_container(const Event& event, Provider provider) {
  auto process = universal_process(event, provider);
  if (!process || process->container.empty()) return std::nullopt;
  return std::move(process->container);
}

void ProcessNames::on_event(const Event& event) {
  const auto provider = providers_.of(*event.type);
  if (auto name = provider == Provider::kOther ? process_name(event)
                                               : universal_process_name(event, provider))
    names_[event.process] = std::move(*name);
}

std::string ProcessNames::name(ProcessId process) const {
  const auto found = names_.find(process);
  return found == names_.end() ? std::string{} : found->second;
}

std::string ProcessNames::who(ProcessId process) const {
  const auto pid = static_cast<std::int32_t>(process);
  const auto known = name(process);
  return known.empty() ? fmt::format("process {}", pid) : fmt::format("{} ({})", known, pid);
}

}  // namespace clrscope::analyze
