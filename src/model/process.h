// A .NET process as it is listed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace clrscope {

struct Process {
  pid_t pid = 0;
  std::string name;
  std::string user;
  std::string runtime{};       // "10.0.12"; empty: unknown
  std::string architecture{};  // "x64"; empty: unknown
  std::string command_line{};
  std::string container{};  // empty: none
  std::chrono::nanoseconds up{};
  std::optional<double> cpu_percent{};  // since it started; 100 is one core
  std::optional<std::uint64_t> rss_bytes{};
  std::string uid{};     // the runtime's own, for as long as it lives; empty: unknown
  bool by_port = false;  // reached through the port that it connected to
  bool foreign = false;  // its pid is of another namespace: there is no /proc of it here
  std::string reason{};  // why it cannot be reached; empty: it can
  std::string hint{};    // and the remedy

  bool reachable() const { return reason.empty(); }
};

}  // namespace clrscope
