// Runs of the doctor: each on a thread of its own, with its report stored in the state folder.
//
// A report is three files: ID.json describes the run, ID.report.json is the doctor's answer, ID.txt
// the same as text. The last two hundred are kept. Reports on processes that this server does not
// show are neither listed nor found. Any thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "archive/operations.h"
#include "archive/process_reference.h"
#include "archive/settings.h"
#include "archive/state_folder.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"
#include "ops/examine.h"

namespace clrscope::archive {

enum class VisitState : std::uint8_t { kRunning, kFinished, kFailed, kLost };
std::span<const std::string_view> names_of(VisitState);

struct Visit {
  std::string id{};
  VisitState state = VisitState::kRunning;
  std::string started{};
  Process process{};
  std::chrono::nanoseconds took{};
  std::uint64_t findings = 0;
  std::string verdict{};   // the first finding's title; empty: nothing was found
  std::string finding{};   // its id
  std::string severity{};  // its harm
  std::string error{};     // of one that failed
  std::string by{};
  bool earlier = false;  // an earlier serve kept it: its process may be one that is not shown here
};

// What answers say of it.
struct VisitAnswer {
  std::string id{};
  VisitState state{};
  std::string started{};
  ProcessReference process{};
  std::chrono::nanoseconds duration{};
  std::uint64_t findings = 0;
  std::string verdict{}, finding{}, severity{}, error{}, by{};
};
const Shape& shape_of(const VisitAnswer*);
VisitAnswer answer_of(const Visit& visit);

class Examinations {
 public:
  Examinations(const ArchiveSettings& settings, Operations& operations);
  ~Examinations();  // concludes what runs

  std::size_t running() const;
  Result<Visit> start(ops::ExamineRequest request, const Process& process, const std::string& by);
  // Until it has ended; `gone` is asked from time to time whether to wait on.
  Result<Visit> wait(const std::string& id, const std::function<bool()>& gone);

  std::vector<Visit> list() const;  // the newest first
  Result<Visit> find(const std::string& id) const;
  Result<std::string> report(const std::string& id) const;  // JSON
  Result<std::string> text(const std::string& id) const;
  Result<> remove(const std::string& id);

 private:
  struct Running {
    std::string id{};
    UniqueFd stop{};
    std::unique_ptr<OperationHandle> operation{};
    std::jthread thread{};
  };
  void run(const std::string& id, ops::ExamineRequest request, int stop);
  void keep(Visit visit);
  std::vector<Visit> every() const;  // also what is not shown
  void erase(const std::string& id);
  void forget_ended();
  Result<std::string> read(const std::string& name, std::size_t limit) const;
  Result<> write(const std::string& name, std::string_view text) const;

  const ArchiveSettings& settings_;
  FolderInState folder_;
  Operations& operations_;
  Guarded<std::map<std::string, Visit>> visits_;
  Guarded<std::list<std::shared_ptr<Running>>> running_;
};

}  // namespace clrscope::archive
