// Who sent and who read: one line of JSON each, in a file that nobody else may read. When it has
// grown to 8 MiB it becomes FILE.1 and a new one begins. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::fleet {

class FleetAudit {
 public:
  // An empty path: nothing is written.
  static Result<std::unique_ptr<FleetAudit>> open(std::string path);

  // `what`: "ingest", "GET /fleet/routes?…"; `who`: name of the token, empty when
  // refused; `tenant`: empty: the server has no tenants.
  void note(std::string_view what, std::string_view who, std::string_view peer,
            std::string_view outcome, std::string_view tenant = {});
  std::uint64_t lost() const;  // lines that could not be written

 private:
  struct File {
    UniqueFd fd{};
    std::uint64_t size = 0;
    std::uint64_t lost = 0;
  };
  explicit FleetAudit(std::string path) : path_(std::move(path)) {}
  Result<> begin(File& file) const;

  const std::string path_;
  Guarded<File> file_;
};

}  // namespace clrscope::fleet
