#include "fleet/audit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/private_folder.h"

namespace clrscope::fleet {
namespace {

constexpr std::uint64_t kFileBytes = 8 << 20;
constexpr std::size_t kLongestWhat = 1000;

}  // namespace

Result<> FleetAudit::begin(File& file) const {
  file.fd.reset(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file.fd)
    return fail(errc_of(errno), "cannot open the audit log {}: {}", path_, errno_text());
  struct stat state {};
  file.size = ::fstat(file.fd.get(), &state) == 0 ? static_cast<std::uint64_t>(state.st_size) : 0;
  return {};
}

Result<std::unique_ptr<FleetAudit>> FleetAudit::open(std::string path) {
  std::unique_ptr<FleetAudit> audit{new FleetAudit{std::move(path)}};  // its constructor is private
  if (audit->path_.empty()) return audit;
  TRY(audit->file_.with([&](File& file) { return audit->begin(file); }));
  return audit;
}

void FleetAudit::note(std::string_view what, std::string_view who, std::string_view peer,
                      std::string_view outcome, std::string_view tenant) {
  if (path_.empty()) return;
  JsonWriter json;
  json.begin_object()
      .member("time", iso8601(wall_now()))
      .member("what", what.substr(0, kLongestWhat));
  json.member("who", who).member("peer", peer);
  if (!tenant.empty()) json.member("tenant", tenant);
  json.member("outcome", outcome).end_object();
  const auto line = std::move(json).take() + '\n';
  file_.with([&](File& file) {
    if (file.size >= kFileBytes) {
      ::rename(path_.c_str(), (path_ + ".1").c_str());
      if (!begin(file)) file.fd.reset();
    }
    if (!file.fd || !write_all(file.fd.get(), as_bytes(line)))
      ++file.lost;
    else
      file.size += line.size();
  });
}

std::uint64_t FleetAudit::lost() const {
  return file_.with([](const File& file) { return file.lost; });
}

}  // namespace clrscope::fleet
