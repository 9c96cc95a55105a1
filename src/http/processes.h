// The processes that may be seen here, and the one that a request is about.
//
// The only way to a process, and to what was kept of one: --allow and --owner are judged here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "http/route.h"
#include "http/setting.h"
#include "model/process.h"
#include "ops/check.h"
#include "ops/process_book.h"
#include "ops/target.h"
#include "ops/visibility.h"

namespace clrscope::http {

using ops::Selector;

// ?pid=, ?uid=, ?name=
Result<Selector> selector_of(const Call& call);

class Processes {
 public:
  // `runtimes`: those that connect to us, or none.
  explicit Processes(const ServeSetting& setting, std::shared_ptr<ops::Runtimes> runtimes = {})
      : setting_(setting), runtimes_(std::move(runtimes)) {}

  // Those that the administrator allows, by pid.
  Result<std::vector<Process>> list() const;
  // By ?pid=, ?uid= or ?name=; without any: the only one there is.
  Result<Process> chosen(const Call& call) const;
  Result<Process> chosen(const Call& call, const Selector& selector) const;
  bool allowed(const Process& process) const { return setting_.visible.shows(process); }
  // Whether it is sure that it runs and may be seen. Does not wait for its runtime.
  bool still_there(pid_t pid) const;
  // Whether the whole machine may be recorded: not where only some processes may be seen.
  Result<> machine_allowed() const;
  // How an operation reaches it: by its pid, or through the port that it connected to.
  ops::TargetRequest target(const Process& process) const;
  // The port that applications connect to, if there is one.
  std::optional<ops::CheckRow> port_row() const;

 private:
  std::optional<Process> by_pid(pid_t pid) const;

  const ServeSetting& setting_;
  std::shared_ptr<ops::Runtimes> runtimes_;
  mutable ops::ProcessBook book_{};  // pages ask about the same again and again
};

// What dotnet-monitor tells of a process, and what we know beside.
struct ProcessInfo {
  pid_t pid = 0;
  std::string uid{}, name{}, command_line{}, operating_system = "Linux", architecture{}, runtime{},
                                             user{};
  std::chrono::duration<double> up{};
  std::optional<double> cpu_percent{};
  std::optional<std::uint64_t> rss_bytes{};
  std::string container{};
  bool reachable = true;
  std::string reason{}, hint{};
  std::optional<bool> is_default{};  // in lists
};
const Shape& shape_of(const ProcessInfo*);
ProcessInfo info_of(const Process& process);

}  // namespace clrscope::http
