// The doctor's visits: run on threads of their own, and their reports kept in the state folder.
//
// A report is three files: ID.json tells of the visit, ID.report.json is what the doctor said,
// ID.txt the same for people. The last two hundred are kept. Those of a process that may not be
// seen here are neither listed nor found. Any thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/json.h"
#include "base/result.h"
#include "http/operations.h"
#include "http/setting.h"
#include "http/state_folder.h"
#include "model/process.h"
#include "ops/examine.h"

namespace clrscope::http {

struct Visit {
  std::string id{};
  std::string state{};  // "running", "finished", "failed", "lost"
  std::string started{};
  Process process{};
  double took_ms = 0;
  std::uint64_t findings = 0;
  std::string verdict{};   // the first finding's title; empty: nothing was found
  std::string finding{};   // its id
  std::string severity{};  // its harm
  std::string error{};     // of one that failed
  std::string by{};
  bool earlier = false;  // an earlier serve kept it: its process may be one that is not shown here
};

void write_visit(JsonWriter& json, const Visit& visit);  // the members of an object

class Examinations {
 public:
  Examinations(const ServeSetting& setting, Operations& operations);
  ~Examinations();  // concludes what runs

  static constexpr std::size_t kMostAtOnce = 8;
  std::size_t running() const;
  Result<Visit> start(ops::ExamineWish wish, const Process& process, const std::string& by);
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
  void run(const std::string& id, ops::ExamineWish wish, int stop);
  void keep(Visit visit);
  std::vector<Visit> every() const;  // also what is not shown
  void erase(const std::string& id);
  void forget_ended();
  Result<std::string> read(const std::string& name, std::size_t limit) const;
  Result<> write(const std::string& name, std::string_view text) const;

  const ServeSetting& setting_;
  FolderInState folder_;
  Operations& operations_;
  Guarded<std::map<std::string, Visit>> visits_;
  Guarded<std::list<std::shared_ptr<Running>>> running_;
};

}  // namespace clrscope::http
