// What a caller may do. Data only.
//
// Scopes do not contain one another, but for admin, which holds all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace clrscope::http {

enum class Scope : std::uint8_t {
  kOpen = 0,          // nobody is asked: health
  kMetrics = 1 << 0,  // numbers for monitoring
  kRead = 1 << 1,     // processes, stacks, counters, views, doctor
  kTrace = 1 << 2,    // recordings: they hold what the program says of itself
  kMemory = 1 << 3,   // dumps, heaps, the environment: they hold secrets
  kAdmin = 1 << 4,    // keys, audit
};

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  static constexpr ScopeSet all() { return ScopeSet{0x1f}; }
  static constexpr ScopeSet of(std::uint8_t bits) { return ScopeSet{bits}; }
  constexpr ScopeSet& add(Scope scope) {
    bits_ = static_cast<std::uint8_t>(bits_ | static_cast<std::uint8_t>(scope));
    return *this;
  }
  constexpr bool has(Scope scope) const {
    const auto bit = static_cast<std::uint8_t>(scope);
    return bit == 0 || (bits_ & bit) != 0 || (bits_ & static_cast<std::uint8_t>(Scope::kAdmin));
  }
  constexpr ScopeSet only(ScopeSet other) const {
    return ScopeSet{static_cast<std::uint8_t>(bits_ & other.bits_)};
  }
  constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr bool operator==(ScopeSet, ScopeSet) = default;

 private:
  explicit constexpr ScopeSet(std::uint8_t bits) : bits_(bits) {}
  std::uint8_t bits_ = 0;
};

std::string_view name_of(Scope scope);  // "metrics", "read", …
std::optional<Scope> parse_scope(std::string_view name);
std::string text_of(ScopeSet scopes);  // "metrics,read"

// Who asks, as far as it is known.
struct Caller {
  std::string name{};  // of the key, of the user: for the audit log
  ScopeSet scopes{};
  bool by_cookie = false;  // a browser sends it by itself: see access.h
};

}  // namespace clrscope::http
