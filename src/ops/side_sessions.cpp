#include "ops/side_sessions.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "collect/eventpipe/session_end.h"
#include "ipc/commands.h"
#include "model/provider_names.h"
#include "nettrace/reader.h"

namespace clrscope::ops {
namespace {

using doctor::Evidence;
using std::chrono::nanoseconds;

constexpr std::uint64_t kFrameNs = 1'200;  // see kEventNs
// An event of a DiagnosticSource, whose values are read by reflection and written one by one.
constexpr std::uint64_t kReflectedEventNs = 50'000;
// Parts of the processors' time while the process is watched that a session may cost: together
// half a percent. One that was asked for by name may cost more.
constexpr double kCallShare = 0.004, kCommandShare = 0.0005, kAllocationShare = 0.0005;
constexpr double kGenerousShare = 0.01;
constexpr unsigned kMostProcessors = 4;  // a program with one busy thread has no more of many
constexpr std::uint32_t kBufferMb = 1;   // of the process's memory
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::seconds kEndPatience{2};  // there is no rundown to wait for

std::uint64_t allowance(double share, nanoseconds duration) {
  const auto processors = std::clamp(std::thread::hardware_concurrency(), 1U, kMostProcessors);
  return static_cast<std::uint64_t>(share * static_cast<double>(duration.count()) * processors);
}

using ipc::Level;
using ipc::Provider;

// Activities bring the beginning and the end of a call together. Every await of the program is
// slower with them.
const Provider kActivities{std::string{kTasksProvider}, 0x80, Level::kInformational};

constexpr std::array<std::uint32_t, 3> kCallEvents{1, 2, 3};  // begin, end and failure

std::vector<Provider> call_providers(bool with_activities) {
  std::vector<Provider> providers;
  if (with_activities) providers.push_back(kActivities);
  for (const auto name : {kHttpProvider, kNameResolutionProvider})
    providers.push_back({.name = std::string{name},
                         .keywords = ~0ULL,
                         .level = Level::kInformational,
                         .event_ids = {kCallEvents.begin(), kCallEvents.end()}});
  return providers;
}

// No manifest, and no information about the process.
bool is_of_call(const EventType& type) {
  return (type.provider == kHttpProvider || type.provider == kNameResolutionProvider) &&
         std::ranges::find(kCallEvents, type.id) != kCallEvents.end();
}

// The text of each command, and whose it is: of a trace, or of a DbContext.
constexpr std::string_view kCommandSpecs =
    "FilterAndPayloadSpecs=\""
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:"
    "-Command.CommandText;TraceId=*Activity.TraceId\r\n"
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandBefore@Activity1Start:"
    "-Command.CommandText;TraceId=*Activity.TraceId\r\n"
    "Microsoft.EntityFrameworkCore/"
    "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting@Activity2Start:"
    "-Command.CommandText;Context.ContextId;TraceId=*Activity.TraceId\"";

std::vector<Provider> command_providers() {
  return {{.name = std::string{kDiagnosticSourceProvider},
           .keywords = 0x2,
           .level = Level::kVerbose,
           .arguments = std::string{kCommandSpecs}}};
}

// .NET 10 samples at random; before, the allocator told of every 100 KB.
std::vector<Provider> allocation_providers(std::string_view runtime) {
  constexpr std::uint64_t kGc = 0x1, kSampling = 0x80000000000;
  const auto major = parse_number(runtime.substr(0, runtime.find('.'))).value_or(0);
  const bool samples = major >= 10;
  return {{.name = std::string{kRuntimeProvider},
           .keywords = samples ? kSampling : kGc,
           .level = samples ? Level::kInformational : Level::kVerbose}};
}

std::string reason_of(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{}; {}", error.what, error.hint);
}

}  // namespace

class SideSessions::One {
 public:
  explicit One(std::unique_ptr<doctor::SideEvidence> evidence) : evidence_(std::move(evidence)) {}

  void open(ipc::Endpoint& runtime, pid_t pid, std::vector<Provider> providers,
            std::uint64_t event_ns, std::uint64_t allowed) {
    ipc::SessionConfig config{
        .buffer_mb = kBufferMb, .rundown_keyword = 0, .providers = std::move(providers)};
    auto session = ipc::start_tracing(runtime, config, kPatience);
    if (!session && session.error().code == Errc::kUnsupported) {
      for (auto& provider : config.providers) provider.event_ids.clear();
      session = ipc::start_tracing(runtime, config, kPatience);
    }
    if (!session) {
      silent_ = session.error().code == Errc::kTimeout;
      return refuse(reason_of(session.error()));
    }
    session_ = std::move(*session);
    begun_ = TraceClock::now();
    event_ns_ = event_ns;
    allowed_ = allowed;
    end_ = std::make_unique<collect::SessionEnd>(runtime, session_.id, pid);
  }
  void refuse(std::string why) { refused_ = std::move(why); }
  bool silent() const { return silent_; }  // the runtime does not answer
  const std::string& refused() const { return refused_; }

  int fd() const { return session_.stream.get(); }
  bool is_open() const { return end_ && !closed_ && !end_->hopeless() && !is_given_up(); }
  void ask_to_end() {
    if (!end_ || end_->asked_at()) return;
    lasted_ = TraceClock::now() - begun_;
    end_->ask();
  }

  void read(std::span<std::uint8_t> buffer) {
    const auto got = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const auto take = [this](const nettrace::Batch& batch) { on_batch(batch); };
    if (got <= 0) {
      closed_ = true;
      (void)reader_.finish(take);
      if (lasted_.count() == 0) lasted_ = TraceClock::now() - begun_;
      return;
    }
    end_->hear();
    if (!reader_.feed(Bytes{buffer}.first(static_cast<std::size_t>(got)), take)) closed_ = true;
    if (end_->asked_at() || cost_ <= allowed_) return;
    cut_ = true;
    ask_to_end();
  }

  bool has_calls() const { return has_calls_; }
  void supersede() {  // another one has been opened in its place
    superseded_ = true;
    ask_to_end();
  }

  void on_names(const nettrace::Batch& batch) { evidence_->on_names(batch); }
  void add_to(Evidence& evidence) {
    if (superseded_) return;
    if (!end_) return evidence_->add_reason(evidence, refused_);
    evidence_->end(reader_);
    evidence_->add_to(evidence, lasted_, cut_);
  }

 private:
  bool is_given_up() const {
    const auto asked = end_->asked_at();
    return asked && TraceClock::now() - *asked > kEndPatience;
  }
  void on_batch(const nettrace::Batch& batch) {
    for (const Event& event : batch.events) {
      cost_ += event_ns_ + kFrameNs * reader_.stack(event.stack).size();
      has_calls_ = has_calls_ || is_of_call(*event.type);
    }
    evidence_->on_batch(reader_, batch);
  }

  std::unique_ptr<doctor::SideEvidence> evidence_;
  std::string refused_{"the session was not opened"};
  nettrace::Reader reader_;
  ipc::Session session_;
  TraceTime begun_{};
  nanoseconds lasted_{};
  std::uint64_t event_ns_ = 0;
  std::uint64_t cost_ = 0, allowed_ = 0;  // nanoseconds of the program's time, all threads
  bool has_calls_ = false;
  bool superseded_ = false;
  bool silent_ = false;
  bool cut_ = false;
  bool closed_ = false;
  std::unique_ptr<collect::SessionEnd> end_;  // last: its thread ends before what it uses goes
};

SideSessions::SideSessions(TargetRequest target, SideWants wants, nanoseconds duration)
    : target_(std::move(target)),
      wants_(wants),
      duration_(duration),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

SideSessions::~SideSessions() { stop(); }

void SideSessions::stop() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
}

void SideSessions::finish() {
  if (thread_.joinable()) thread_.join();
}

void SideSessions::on_names(const nettrace::Batch& batch) {
  for (const auto& one : sessions_) one->on_names(batch);
}

void SideSessions::add_to(Evidence& evidence) {
  for (const auto& one : sessions_) one->add_to(evidence);
}

SideSessions::One& SideSessions::add(std::unique_ptr<doctor::SideEvidence> evidence,
                                     std::vector<Provider> providers, double share,
                                     std::uint64_t event_ns) {
  const auto* before = sessions_.empty() ? nullptr : sessions_.front().get();
  auto& one = *sessions_.emplace_back(std::make_unique<One>(std::move(evidence)));
  if (before && before->silent())
    one.refuse(before->refused());  // nor would it answer this
  else if (!unreachable_.empty())
    one.refuse(unreachable_);
  else
    one.open(*found_.endpoint, found_.process.pid, std::move(providers), event_ns,
             allowance(wants_.generous ? kGenerousShare : share, duration_));
  return one;
}

void SideSessions::open() {
  if (auto found = find_target(target_, kPatience, stop_.get()))
    found_ = std::move(*found);
  else
    unreachable_ = reason_of(found.error());
  if (wants_.calls) {
    auto& calls = add(doctor::make_call_evidence(), call_providers(wants_.generous), kCallShare);
    if (!wants_.generous) scout_ = &calls;
  }
  if (wants_.commands)
    add(doctor::make_command_evidence(), command_providers(), kCommandShare, kReflectedEventNs);
  if (wants_.allocations)
    add(doctor::make_allocation_evidence(), allocation_providers(found_.process.runtime),
        kAllocationShare);
}

// There are calls: from now on with what brings their beginnings and ends together.
void SideSessions::follow_calls() {
  if (!scout_ || !scout_->has_calls()) return;
  std::exchange(scout_, nullptr)->supersede();
  add(doctor::make_call_evidence(), call_providers(true), kCallShare);
}

void SideSessions::run() {
  open();  // takes a busy runtime seconds
  read_until_end(TraceClock::now() + duration_);
}

void SideSessions::read_until_end(TraceTime until) {
  constexpr nanoseconds kStep = std::chrono::milliseconds{200};
  std::vector<std::uint8_t> buffer(std::size_t{256} * 1024);
  bool stopped = false;
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<One*> open;
    for (const auto& one : sessions_)
      if (one->is_open()) {
        open.push_back(one.get());
        fds.push_back({.fd = one->fd(), .events = POLLIN, .revents = 0});
      }
    if (open.empty()) return;
    const auto left = until - TraceClock::now();
    if (stopped || left.count() <= 0)
      for (auto* one : open) one->ask_to_end();
    else
      fds.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
    const auto step = left.count() <= 0 ? kStep : std::min(kStep, left);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(step).count();
    if (::poll(fds.data(), fds.size(), static_cast<int>(ms)) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (fds[i].revents != 0) open[i]->read(buffer);
    if (!stopped && left.count() > 0) follow_calls();
    stopped = stopped || (fds.size() > open.size() && fds.back().revents != 0);
  }
}

}  // namespace clrscope::ops
