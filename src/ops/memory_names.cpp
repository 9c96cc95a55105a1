#include "ops/memory_names.h"

#include <fmt/format.h>

#include "symbols/method_name.h"

namespace clrscope::ops {
namespace {

// "Shop.Cart.Add[System.Int32](int)" to where ".Add" begins.
std::size_t end_of_type(std::string_view name) {
  std::size_t depth = 0;
  for (auto at = std::min(name.find('('), name.size()); at-- > 0;) {
    if (name[at] == ']') ++depth;
    if (name[at] == '[' && depth > 0) --depth;
    if (name[at] == '.' && depth == 0) return at > 0 && name[at - 1] == '.' ? at - 1 : at;
  }
  return std::string_view::npos;
}

std::string jit_symbol(const inspect::MethodInfo& method) {
  const std::string_view name{method.name};
  const auto type = end_of_type(name);
  if (type == std::string_view::npos) return method.name;
  return fmt::format("? [{}] {}::{}", module_name(method.module), name.substr(0, type),
                     name.substr(type + 1));
}

}  // namespace

std::optional<collect::MethodRange> MemoryNames::find(ProcessId process, std::uint64_t address) {
  const auto [at, is_new] = opened_.try_emplace(process);
  auto& [target, reader] = at->second;
  if (is_new)
    if (auto opened = inspect::open_process(static_cast<pid_t>(process))) {
      target = *std::move(opened);
      if (auto runtime = inspect::open_runtime(*target)) reader = *std::move(runtime);
    }
  const auto method = reader ? reader->method_at(address) : fail(Errc::kNotFound, "unreadable");
  if (!method) return std::nullopt;
  // Of a method with several bodies the reader may tell the extent of another one.
  const auto end = method->code_start + method->code_size;
  const bool inside = address >= method->code_start && address < end;
  return collect::MethodRange{.start = inside ? method->code_start : address,
                              .end = inside ? end : address + 1,
                              .name = jit_symbol(*method)};
}

}  // namespace clrscope::ops
