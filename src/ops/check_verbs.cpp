// From what works to what each verb uses of it.
#include <fmt/format.h>

#include <algorithm>

#include "ops/check.h"

namespace clrscope::ops {
namespace {

constexpr const char* kPort = "diagnostic-port";
constexpr const char* kEvents = "events";
constexpr const char* kMemory = "memory";
constexpr const char* kPause = "pause";
constexpr const char* kDump = "dump";
constexpr const char* kCpu = "cpu-process";
constexpr const char* kAgent = "agent";

class Chooser {
 public:
  Chooser(const std::vector<CheckRow>& rows, PortKind port) : rows_(rows), port_(port) {}

  VerbUse stacks() const {
    const auto& memory = row(kMemory);
    VerbUse use{.verb = "stacks"};
    if (memory.works == Works::kYes) {
      take(use, kMemory);
      if (has(kPause))
        take(use, kPause);
      else
        lack(use, "running threads may lack frames", row(kPause));
    } else if (has(kPort)) {
      take(use, kPort);
      lack(use, "managed frames only, no locks", memory);
    } else if (has(kMemory)) {
      take(use, kMemory);
      lack(use, "native frames only", memory);
    } else {
      return none("stacks", memory);
    }
    return use;
  }

  VerbUse doctor() const {
    VerbUse use{.verb = "doctor"};
    if (row(kMemory).works == Works::kYes)
      take(use, kMemory);
    else
      lack(use, "no threads and locks", row(kMemory));
    if (has(kEvents))
      take(use, kEvents);
    else
      lack(use, "no runtime events", row(kPort));
    if (has(kCpu)) take(use, kCpu);
    add_cpu(use);
    return use.uses.empty() ? none("doctor", row(kMemory)) : use;
  }

  // `verb`: one that records.
  VerbUse recording(const char* verb) const {
    VerbUse use{.verb = verb};
    if (has(kEvents))
      take(use, kEvents);
    else if (port_ == PortKind::kSilent && has(kCpu))
      lack(use, "no runtime events", row(kPort));
    else
      return none(verb, row(kPort));
    if (has(kCpu)) take(use, kCpu);
    if (!has(kCpu) && has(kAgent) && has(kEvents) && std::string_view{verb} == "collect") {
      take(use, kAgent);
      lack(use, "CPU samples by the agent, without kernel frames and waits", row(kCpu));
      return use;
    }
    add_cpu(use);
    return use;
  }

  VerbUse top() const {
    VerbUse use{.verb = "top"};
    if (port_ == PortKind::kAlone) return none("top", row(kCpu));
    if (!has(kEvents) && (port_ == PortKind::kAnswers || !has(kCpu)))
      return none("top", row(kPort));
    if (has(kCpu)) take(use, kCpu);
    if (has(kEvents))
      take(use, kEvents);
    else if (has(kMemory))
      take(use, kMemory);
    else
      lack(use, "method names may be missing", row(kPort));
    add_cpu(use);
    return use;
  }

  VerbUse counters() const {
    if (!has(kEvents)) return none("counters", row(kPort));
    VerbUse use{.verb = "counters"};
    take(use, kEvents);
    if (row(kMemory).works == Works::kYes)
      take(use, kMemory);
    else
      lack(use, "EventSources that are not part of .NET must be named", row(kMemory));
    return use;
  }

  VerbUse events_only(const char* verb) const {
    if (!has(kEvents)) return none(verb, row(kPort));
    VerbUse use{.verb = verb};
    take(use, kEvents);
    return use;
  }

  VerbUse heap() const {
    const auto& memory = row(kMemory);
    VerbUse use{.verb = "heap"};
    if (memory.works == Works::kYes && has(kPause)) {
      use.uses = {kMemory, kPause};
      use.works = Works::kYes;
      return use;
    }
    const auto& why = memory.works == Works::kYes ? row(kPause) : memory;
    if (!has(kEvents)) return none("heap", why);
    take(use, kEvents);
    lack(use, "by a full collection, which pauses the process longer", why);
    return use;
  }

  VerbUse dump() const {
    if (!has(kPort)) return none("dump", row(kPort));
    if (!has(kDump)) return none("dump", row(kDump));
    VerbUse use{.verb = "dump", .works = row(kDump).works};
    use.uses = {kPort, kDump};
    if (use.works == Works::kPartly) {
      use.detail = row(kDump).detail;
      use.hint = row(kDump).hint;
    }
    return use;
  }

 private:
  const CheckRow& row(std::string_view id) const {
    static const CheckRow kNone{};
    const auto at = std::ranges::find(rows_, id, &CheckRow::id);
    return at == rows_.end() ? kNone : *at;
  }
  bool has(std::string_view id) const { return row(id).works != Works::kNo; }

  // Works as well as the worst of what it takes.
  void take(VerbUse& use, const char* id) const {
    if (use.uses.empty() && use.detail.empty()) use.works = Works::kYes;
    use.uses.emplace_back(id);
  }
  static void lack(VerbUse& use, std::string_view what, const CheckRow& why) {
    use.works = Works::kPartly;
    if (!use.detail.empty()) use.detail += "; ";
    use.detail += why.detail.empty() ? std::string{what} : fmt::format("{}: {}", what, why.detail);
    if (use.hint.empty()) use.hint = why.hint;
  }
  // What there is instead of the kernel's samples, and what these lack.
  void add_cpu(VerbUse& use) const {
    const auto& cpu = row(kCpu);
    if (cpu.works == Works::kPartly) lack(use, "CPU samples", cpu);
    if (cpu.works == Works::kNo)
      lack(use, has(kEvents) ? "CPU samples by the runtime's own sampler" : "no CPU samples", cpu);
  }
  static VerbUse none(const char* verb, const CheckRow& why) {
    return {.verb = verb, .detail = why.detail, .hint = why.hint};
  }

  const std::vector<CheckRow>& rows_;
  PortKind port_;
};

}  // namespace

std::vector<VerbUse> verbs_for(const std::vector<CheckRow>& rows, PortKind port) {
  const Chooser choose{rows, port};
  return {choose.stacks(),
          choose.doctor(),
          choose.recording("collect"),
          choose.recording("flame"),
          choose.top(),
          choose.counters(),
          choose.events_only("events"),
          choose.events_only("forward"),
          choose.heap(),
          choose.dump()};
}

}  // namespace clrscope::ops
