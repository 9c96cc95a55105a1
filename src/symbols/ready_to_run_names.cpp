#include "symbols/ready_to_run_names.h"

#include <algorithm>

#include "symbols/signature.h"
#include "symbols/stub_code.h"

namespace clrscope {
namespace {

constexpr std::uint32_t kMethod = std::uint32_t{Metadata::kMethodDef} << 24;
constexpr std::uint32_t kMostHandlers = 64;  // of a method

}  // namespace

Result<ReadyToRunNames> ReadyToRunNames::open(const std::string& path) {
  auto image = TRY(ReadyToRunImage::open(path, std::nullopt));
  auto metadata = TRY(metadata_of(image.file()));
  return ReadyToRunNames{std::move(image), std::move(metadata)};
}

std::optional<ReadyToRunNames::Function> ReadyToRunNames::find(std::uint64_t address, Which which) {
  const auto& tables = image_.tables();
  if (const auto calls = tables.unbound_calls(); calls.start <= address && address < calls.end)
    return Function{calls.start, calls.end, std::string{kUnboundCallStub}};
  const auto function = tables.function_around(address);
  if (!function) return std::nullopt;
  const auto token =
      which == Which::kAll ? token_around(function->number) : token_of(function->number);
  if (token == 0 || (which == Which::kUntold && !metadata_.is_native_call(token)))
    return std::nullopt;
  return Function{function->start, function->end, name_of(token)};
}

std::optional<ReadyToRunNames::Lines> ReadyToRunNames::lines(std::uint64_t address) const {
  const auto& tables = image_.tables();
  auto function = tables.function_around(address);
  for (std::uint32_t back = 0; function && back <= kMostHandlers; ++back) {
    if (tables.has_il_map(function->number)) {
      auto map = tables.il_map(function->number);
      if (map.empty()) break;
      return Lines{function->start, std::move(map)};
    }
    function = tables.function_before(*function);
  }
  return std::nullopt;
}

std::uint32_t ReadyToRunNames::token_of(std::uint32_t function) {
  if (!made_) {
    made_ = true;
    const auto rows = std::min(image_.tables().method_rows(), metadata_.rows(Metadata::kMethodDef));
    for (std::uint32_t row = 1; row <= rows; ++row)
      if (const auto first = image_.tables().function_of_token(kMethod | row))
        starts_.emplace_back(*first, kMethod | row);
    std::ranges::sort(starts_);
    starts_.shrink_to_fit();
  }
  const auto at = std::ranges::lower_bound(starts_, std::pair{function, 0U});
  return at == starts_.end() || at->first != function ? 0 : at->second;
}

// A method's handlers follow it, and nothing says more of them.
std::uint32_t ReadyToRunNames::token_around(std::uint32_t function) {
  for (std::uint32_t back = 0; back <= std::min(function, kMostHandlers); ++back) {
    if (const auto token = token_of(function - back)) return token;
    if (image_.tables().has_il_map(function - back)) break;
  }
  return 0;
}

std::string ReadyToRunNames::name_of(std::uint32_t token) {
  const SignatureNames names{
      .type = [this](std::uint32_t type) { return metadata_.own_name(type); },
      .handle = [](std::uint64_t) { return std::string{"?"}; }};
  return metadata_.type_name(metadata_.declaring_type(token)) + '.' + metadata_.method_name(token) +
         arguments_of_signature(metadata_.method_signature(token), names);
}

}  // namespace clrscope
