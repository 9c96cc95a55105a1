// The rungs of the ladder, each in a child that gives up its rights for good.
#include "collect/perf/rights.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>

#include "collect/perf/test_support.h"

namespace clrscope::collect::perf {
namespace {

using namespace std::chrono_literals;
using Works = Right::Works;

constexpr uid_t kNobody = 65534;

std::string word(Works works) {
  return works == Works::kYes ? "yes" : works == Works::kPartly ? "partly" : "no";
}

std::string words(const Rights& rights) {
  return word(rights.machine_cpu.works) + ' ' + word(rights.process_cpu.works) + ' ' +
         word(rights.context_switches.works) + ' ' + word(rights.tracepoints.works);
}

void become_nobody() {
  CHECK(::setgroups(0, nullptr) == 0);
  CHECK(::setresgid(kNobody, kNobody, kNobody) == 0);
  CHECK(::setresuid(kNobody, kNobody, kNobody) == 0);
}

void refuse_perf(std::uint32_t verdict) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, verdict),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

bool is_root_with_perf() { return ::geteuid() == 0 && !probe_rights({}).filtered; }

SessionRequest samples_of(pid_t process) {
  return {.scope = Scope::kThreads, .processes = {process}, .events = {cpu_samples(999)}};
}

TEST(PerfRights, RootMayDoEverything) {
  const auto rights = probe_rights({});
  if (!is_root_with_perf()) GTEST_SKIP() << "not root with perf: " << rights.machine_cpu.detail;
  EXPECT_EQ(words(rights), "yes yes yes yes") << rights.tracepoints.detail;
}

TEST(PerfRights, AUserSamplesOwnProcessesAndHearsWhatIsMissing) {
  if (!is_root_with_perf()) GTEST_SKIP() << "needs root, to become somebody else";
  if (perf_event_paranoid() != 2)
    GTEST_SKIP() << "kernel.perf_event_paranoid is " << perf_event_paranoid().value_or(-9);
  const auto said = said_by_child([] {
    become_nobody();
    const auto rights = probe_rights({});
    return words(rights) + '\n' + rights.machine_cpu.detail + '\n' + rights.machine_cpu.hint +
           '\n' + rights.tracepoints.detail;
  });
  EXPECT_TRUE(said.starts_with("no partly partly no\n")) << said;
  EXPECT_NE(said.find("kernel.perf_event_paranoid is 2"), std::string::npos) << said;
  EXPECT_NE(said.find("CAP_PERFMON"), std::string::npos) << said;
  EXPECT_NE(said.find("tracefs"), std::string::npos) << said;
}

// Keeps one capability beyond the change of user.
void become_nobody_with(unsigned capability) {
  CHECK(::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
  become_nobody();
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[capability / 32].effective = data[capability / 32].permitted = 1U << capability % 32;
  CHECK(::syscall(SYS_capset, &header, data) == 0);
}

TEST(PerfRights, CapPerfmonIsEnoughForTheMachineButNotForTracefs) {
  if (!is_root_with_perf()) GTEST_SKIP() << "needs root, to become somebody else";
  const auto said = said_by_child([] {
    become_nobody_with(CAP_PERFMON);
    const auto rights = probe_rights({});
    if (rights.tracepoints.works == Works::kYes) return std::string{"tracefs is open to all"};
    return words(rights) + '\n' + rights.tracepoints.hint;
  });
  if (said == "tracefs is open to all") GTEST_SKIP() << said;
  EXPECT_TRUE(said.starts_with("yes yes partly no\nrun as root, or with CAP_PERFMON")) << said;
}

TEST(PerfRights, AUsersOwnSamplesArrive) {
  if (!is_root_with_perf()) GTEST_SKIP() << "needs root, to become somebody else";
  if (perf_event_paranoid() != 2)
    GTEST_SKIP() << "kernel.perf_event_paranoid is " << perf_event_paranoid().value_or(-9);
  const auto said = said_by_child([] {
    become_nobody();
    auto request = samples_of(::getpid());
    request.events.push_back(switch_records());
    auto set = EventSet::open(request);
    if (!set) return set.error().what;
    CHECK(set->enable().has_value());
    burn(100ms);
    set->disable();
    std::size_t samples = 0;
    std::size_t kernel_frames = 0;
    set->drain([&](const Record& record) {
      const auto* sample = std::get_if<Sample>(&record);
      if (sample == nullptr) return;
      samples += !sample->stack.empty();
      kernel_frames += sample->callchain.kernel.size();
    });
    if (set->kernel_included() || kernel_frames > 0) return std::string{"sees the kernel"};
    return samples > 10 ? std::string{"samples"} : fmt::format("{} samples", samples);
  });
  EXPECT_EQ(said, "samples");
}

TEST(PerfRights, AForeignProcessIsRefusedWithItsOwner) {
  if (!is_root_with_perf()) GTEST_SKIP() << "needs root, to become somebody else";
  const auto said = said_by_child([root = ::getpid()] {
    become_nobody();
    const auto set = EventSet::open(samples_of(root));
    return set ? "opened" : set.error().what + '\n' + set.error().hint;
  });
  EXPECT_NE(said.find("belongs to root"), std::string::npos) << said;
  EXPECT_NE(said.find("run as root, or with CAP_PERFMON"), std::string::npos) << said;
}

TEST(PerfRights, TheBestScopeStepsDownToThreadsForAUser) {
  if (!is_root_with_perf()) GTEST_SKIP() << "needs root, to become somebody else";
  if (perf_event_paranoid().value_or(2) < 1) GTEST_SKIP() << "users may record all CPUs here";
  const auto scope = [] {
    auto request = samples_of(::getpid());
    request.scope = Scope::kBestFor;
    const auto set = EventSet::open(request);
    if (!set) return set.error().what;
    return std::string{set->scope() == Scope::kThreads ? "threads" : "filtered"};
  };
  EXPECT_EQ(scope(), "filtered");
  EXPECT_EQ(said_by_child([&] {
              become_nobody();
              return scope();
            }),
            "threads");
}

TEST(PerfRights, ASeccompFilterIsNamed) {
  const auto said = said_by_child([] {
    refuse_perf(SECCOMP_RET_ERRNO | EPERM);
    const auto set = EventSet::open(samples_of(::getpid()));
    const auto rights = probe_rights({});
    return words(rights) + (rights.filtered ? " filtered\n" : "\n") +
           (set ? "opened" : set.error().what);
  });
  EXPECT_EQ(said, "no no no no filtered\na seccomp filter refuses perf_event_open");
}

TEST(PerfRights, AFilterThatKillsDoesNotKillUs) {
  const auto said = said_by_child([] {
    refuse_perf(SECCOMP_RET_KILL_PROCESS);
    const auto rights = probe_rights({});
    return words(rights) + '\n' + rights.process_cpu.detail;
  });
  EXPECT_EQ(said, "no no no no\na seccomp filter kills processes that call perf_event_open");
}

}  // namespace
}  // namespace clrscope::collect::perf
