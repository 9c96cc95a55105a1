// The processes that may be seen here, and the one that a request is about.
//
// The only way to a process, and to what was kept of one: --allow and --owner are judged here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "http/route.h"
#include "http/setting.h"
#include "model/process.h"
#include "ops/check.h"
#include "ops/target.h"

namespace clrscope::http {

// Which one is meant.
struct Selector {
  std::optional<pid_t> pid{};
  std::optional<std::string> uid{};
  std::optional<std::string> name{};
  bool any() const { return pid || uid || name; }
  bool fits(const Process& process) const;
};

// ?pid=, ?uid=, ?name=
Result<Selector> selector_of(const Call& call);

// Whether anything is hidden at all.
bool restricted(const ServeSetting& setting);
// A process that is there, or that this serve looked at.
bool shown(const ServeSetting& setting, const Process& process);
// What an earlier serve kept of a process. The owner's earlier lives are known by its name. What
// is of no single process, the machine or an upload, is shown only where everything is.
bool shown_of_earlier(const ServeSetting& setting, const Process& process);

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
  bool allowed(const Process& process) const { return shown(setting_, process); }
  // Whether the whole machine may be recorded: not where only some processes may be seen.
  Result<> machine_allowed() const;
  // How an operation reaches it: by its pid, or through the port that it connected to.
  ops::TargetWish target(const Process& process) const;
  // The port that applications connect to, if there is one.
  std::optional<ops::CheckRow> port_row() const;

 private:
  const ServeSetting& setting_;
  std::shared_ptr<ops::Runtimes> runtimes_;
};

// chosen() found none: a bad request, as dotnet-monitor has it.
bool is_no_process(const Error& error);

// The members of an object: what dotnet-monitor tells of a process, and what we know beside.
void write_process(JsonWriter& json, const Process& process);

}  // namespace clrscope::http
