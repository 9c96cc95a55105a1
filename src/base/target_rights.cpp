#include "base/target_rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/io.h"
#include "base/text.h"

namespace clrscope {
namespace {

constexpr uid_t kAskOnly = static_cast<uid_t>(-1);  // an invalid id changes nothing

uid_t current_fsuid() { return static_cast<uid_t>(::setfsuid(kAskOnly)); }
gid_t current_fsgid() { return static_cast<gid_t>(::setfsgid(kAskOnly)); }

bool change_fsuid(uid_t uid) {
  (void)::setfsuid(uid);
  return current_fsuid() == uid;
}

bool change_fsgid(gid_t gid) {
  (void)::setfsgid(gid);
  return current_fsgid() == gid;
}

std::vector<gid_t> current_groups() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  const int got = ::getgroups(count, groups.data());
  groups.resize(static_cast<std::size_t>(std::max(got, 0)));
  std::ranges::sort(groups);
  return groups;
}

// The library's setgroups() changes all threads, this one only its own.
bool change_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

struct Capabilities {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2]{};

  bool read() { return ::syscall(SYS_capget, &head, data) == 0; }
  bool write() { return ::syscall(SYS_capset, &head, data) == 0; }
  std::uint64_t effective() const {
    return data[0].effective | static_cast<std::uint64_t>(data[1].effective) << 32;
  }
  void set_effective(std::uint64_t bits) {
    data[0].effective = static_cast<std::uint32_t>(bits);
    data[1].effective = static_cast<std::uint32_t>(bits >> 32);
  }
};

std::uint64_t current_capabilities() {
  Capabilities own;
  return own.read() ? own.effective() : 0;
}

bool change_capabilities(std::uint64_t effective) {
  Capabilities own;
  if (!own.read()) return false;
  own.set_effective(effective);
  return own.write();
}

bool restore_capabilities(std::uint64_t effective) {
  return current_capabilities() == effective || change_capabilities(effective);
}

// The kernel takes this flag away when a thread changes its fsuid: without it /proc/self is closed
// to ourselves when we are not root.
bool dumpable_at_start() {
  static const bool dumpable = ::prctl(PR_GET_DUMPABLE) == 1;
  return dumpable;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(" \t", at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

// The last of the four ids of a "Uid:" or "Gid:" line: that of the file system.
std::optional<std::uint32_t> file_system_id(std::string_view value) {
  const auto ids = words_of(value);
  const auto id = ids.size() == 4 ? parse_number(ids[3]) : std::nullopt;
  if (!id || *id > UINT32_MAX) return {};
  return static_cast<std::uint32_t>(*id);
}

std::uint64_t hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc{} && last == end ? value : 0;
}

// What cannot be read counts as another one.
bool same_user_namespace(int process) {
  struct stat theirs {
  }, ours{};
  return ::fstatat(process, "ns/user", &theirs, 0) == 0 &&
         ::stat("/proc/self/ns/user", &ours) == 0 && theirs.st_ino == ours.st_ino &&
         theirs.st_dev == ours.st_dev;
}

}  // namespace

bool TargetRights::allow(uid_t owner, gid_t group, mode_t mode, mode_t wanted) const {
  constexpr auto kOverrides = std::uint64_t{1} << CAP_DAC_OVERRIDE;
  if ((capabilities & kOverrides) != 0) return true;
  if (owner == uid) return (mode >> 6 & wanted) == wanted;
  if (group == gid || std::ranges::find(groups, group) != groups.end())
    return (mode >> 3 & wanted) == wanted;
  return (mode & wanted) == wanted;
}

Result<TargetRights> parse_target_rights(std::string_view status, bool same_namespace) {
  TargetRights rights;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  for (const auto line : split(status, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = line.substr(0, colon);
    const auto value = line.substr(colon + 1);
    if (key == "Uid") uid = file_system_id(value);
    if (key == "Gid") gid = file_system_id(value);
    if (key == "Groups")
      for (const auto word : words_of(value))
        if (const auto group = parse_number(word); group && *group <= UINT32_MAX)
          rights.groups.push_back(static_cast<gid_t>(*group));
    if (key == "CapEff" && same_namespace) rights.capabilities = hexadecimal(trim(value));
  }
  if (!uid || !gid) return fail(Errc::kCorrupt, "/proc/PID/status does not name user and group");
  rights.uid = *uid;
  rights.gid = *gid;
  std::ranges::sort(rights.groups);
  return rights;
}

Result<TargetRights> target_rights(int process, pid_t pid) {
  const UniqueFd status{::openat(process, "status", O_RDONLY | O_CLOEXEC)};
  if (!status) return fail(Errc::kGone, "process {} has ended", pid);
  constexpr std::size_t kMost = 1 << 20;  // a process may have 65,536 groups
  const auto text = TRY(read_open_file(status.get(), kMost));
  return parse_target_rights(text, same_user_namespace(process));
}

WithTargetRights::WithTargetRights(const TargetRights& rights)
    : uid_(current_fsuid()),
      gid_(current_fsgid()),
      groups_(current_groups()),
      capabilities_(current_capabilities()) {
  const bool same_user = uid_ == rights.uid;
  const auto allowed = capabilities_ & rights.capabilities;
  if (same_user && gid_ == rights.gid && groups_ == rights.groups && allowed == capabilities_) {
    is_target_ = true;
    return;
  }
  (void)dumpable_at_start();
  changed_ = true;
  // A user who cannot change groups still looks at processes of their own.
  is_target_ = become(rights) || same_user;
  if (allowed != capabilities_ && !change_capabilities(allowed)) is_target_ = false;
}

bool WithTargetRights::become(const TargetRights& rights) {
  if (groups_ != rights.groups && !change_groups(rights.groups)) return false;
  if (!change_fsgid(rights.gid)) return false;
  return change_fsuid(rights.uid);
}

WithTargetRights::~WithTargetRights() {
  if (!changed_) return;
  const int number = errno;  // of what was done with these rights
  // A thread that keeps the rights of a target must not go on. Capabilities first, groups need one,
  // and last: a change of fsuid changes them too.
  CHECK(restore_capabilities(capabilities_));
  CHECK(change_fsuid(uid_));
  CHECK(change_fsgid(gid_));
  if (current_groups() != groups_) CHECK(change_groups(groups_));
  CHECK(restore_capabilities(capabilities_));
  if (dumpable_at_start()) (void)::prctl(PR_SET_DUMPABLE, 1);
  errno = number;
}

}  // namespace clrscope
