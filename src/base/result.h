// Result<T>: a value or an Error that says what failed, with which value, and what to do about it.
//
// No exception crosses a room. TRY and CHECK are the only control-flow macros; do not nest TRY.
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace clrscope {

enum class Errc {
  kNotFound,     // no such process, file, name
  kDenied,       // the kernel or the target says no
  kCorrupt,      // input that breaks its own format
  kUnsupported,  // not on this runtime, kernel or machine
  kTimeout,      // the peer did not answer in time
  kSystem,       // a system call failed for another reason
  kUsage,        // the user asked for something that has no meaning
  kGone,         // the target was there and is no longer
  kTooLarge,     // input that needs more than a limit of ours allows
  kNoRoom,       // no room on the disk, or within the disk limit
  kBusy,         // too much of it is under way
};

struct Error {
  Errc code;
  std::string what;    // what failed, with the value that failed
  std::string hint{};  // what the user can do about it
};

class Failure;

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Failure failure);  // NOLINT(google-explicit-constructor): `return fail(…)` is the idiom
};

// What fail() returns; turns into any Result.
class [[nodiscard]] Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}

  template <class... Args>
  Failure hint(fmt::format_string<Args...> format, Args&&... args) && {
    error_.hint = fmt::format(format, std::forward<Args>(args)...);
    return std::move(*this);
  }

  Error take() && { return std::move(error_); }

 private:
  Error error_;
};

template <class T>
Result<T>::Result(Failure failure) : Base(tl::unexpect, std::move(failure).take()) {}

template <class... Args>
Failure fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return Failure{Error{code, fmt::format(format, std::forward<Args>(args)...)}};
}

// What a Result that holds a value holds, nothing included; for TRY.
template <class T>
T take_value(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

inline Failure fail(Error error) { return Failure{std::move(error)}; }

// Text of errno, or of a given error number: "Permission denied".
std::string errno_text();
std::string errno_text(int number);

// kDenied for EACCES and EPERM, kNotFound for ENOENT and ESRCH, else kSystem.
Errc errc_of(int number);

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace clrscope

// The value of a Result, or an early return of its Error to our caller.
#define TRY(expression)                                                        \
  __extension__({                                                              \
    auto try_result_ = (expression);                                           \
    if (!try_result_) return ::clrscope::fail(std::move(try_result_).error()); \
    ::clrscope::take_value(std::move(try_result_));                            \
  })

// For broken invariants of our own, never for input.
#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::clrscope::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
