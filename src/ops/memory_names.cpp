#include "ops/memory_names.h"

#include <fmt/format.h>

#include <utility>

#include "inspect/compiled_lambda.h"
#include "symbols/method_name.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kMostOpened = 16;

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

// Of a method with several bodies the reader may tell the extent of another one.
collect::MethodRange range_of(const inspect::MethodInfo& method, std::uint64_t address,
                              std::string name) {
  const auto end = method.code_start + method.code_size;
  const bool inside = address >= method.code_start && address < end;
  return {.start = inside ? method.code_start : address,
          .end = inside ? end : address + 1,
          .name = std::move(name)};
}

}  // namespace

MemoryNames::Opened& MemoryNames::open(ProcessId process) {
  // Each may have a process of its own that reads for it.
  if (opened_.size() >= kMostOpened && !opened_.contains(process)) opened_.clear();
  const auto [at, is_new] = opened_.try_emplace(process);
  auto& [target, reader, walker, objects, tried, library] = at->second;
  if (is_new)
    if (auto opened = inspect::open_process(static_cast<pid_t>(process))) {
      target = *std::move(opened);
      if (auto runtime = inspect::open_runtime(*target)) reader = *std::move(runtime);
    }
  return at->second;
}

std::optional<collect::MethodRange> MemoryNames::find(ProcessId process, std::uint64_t address) {
  auto& reader = open(process).reader;
  const auto method = reader ? reader->method_at(address) : fail(Errc::kNotFound, "unreadable");
  if (!method) return std::nullopt;
  return range_of(*method, address, jit_symbol(*method));
}

std::optional<collect::MethodRange> MemoryNames::find_lambda(ProcessId process,
                                                             std::uint64_t address) {
  auto& [target, reader, walker, objects, tried, library] = open(process);
  const auto lambda = reader ? reader->method_at(address) : fail(Errc::kNotFound, "unreadable");
  if (!lambda || !is_lambda_name(lambda->name)) return std::nullopt;
  if (!walker) {
    auto made = inspect::Walker::of(*target, reader.get());
    if (!made) return std::nullopt;
    walker = *std::move(made);
  }
  if (!objects) objects.emplace(*target, *reader, *walker);
  auto called = inspect::called_by_lambda(*objects, *reader, *lambda);
  if (!called) return std::nullopt;
  called->name = lambda_name(lambda->name, called->name);
  return range_of(*lambda, address, jit_symbol(*called));
}

// Only the library knows: the contracts of .NET 10 do not tell of helpers.
std::optional<collect::MethodRange> MemoryNames::find_helper(ProcessId process,
                                                             std::uint64_t start) {
  auto& opened = open(process);
  if (opened.target && !std::exchange(opened.tried_library, true))
    if (auto library = inspect::open_dac_reader(*opened.target))
      opened.library = *std::move(library);
  auto name = opened.library ? opened.library->helper_at(start) : std::string{};
  if (name.empty()) return std::nullopt;
  return collect::MethodRange{.start = start, .end = start + 1, .name = std::move(name)};
}

}  // namespace clrscope::ops
