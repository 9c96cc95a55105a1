#include "ops/request_file.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/temp_file.h"
#include "nettrace/convert.h"
#include "ops/output.h"
#include "ops/record.h"
#include "ops/trace_bytes.h"
#include "symbols/guarded_mapping.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kStart{5};  // until samples are taken; then we go on without waiting
constexpr std::chrono::milliseconds kLook{10};

nettrace::TraceInfo info_of(pid_t pid) {
  nettrace::TraceInfo info;
  info.version = 6;
  info.start = wall_now();
  info.sync_ticks = TraceClock::now().time_since_epoch().count();
  info.ticks_per_second = 1'000'000'000;
  info.process = ProcessId{pid};
  return info;
}

}  // namespace

Result<std::unique_ptr<RequestFile>> RequestFile::create(const std::string& path, pid_t pid,
                                                         bool with_samples) {
  auto output = TRY(OutputFile::create(path));
  auto requests = TRY(open_temp_file(folder_of(path)));
  auto cpu = TRY(open_temp_file(folder_of(path)));
  std::unique_ptr<RequestFile> file{
      new RequestFile{std::move(output), std::move(requests), std::move(cpu), pid}};
  if (with_samples) file->start_samples();
  return file;
}

RequestFile::RequestFile(OutputFile output, UniqueFd requests, UniqueFd cpu, pid_t pid)
    : output_(std::move(output)),
      requests_(std::move(requests)),
      cpu_(std::move(cpu)),
      pid_(pid),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      writer_(info_of(pid),
              [this](Bytes bytes) -> Result<> {
                written_ += bytes.size();
                return write_all(requests_.get(), bytes);
              }),
      events_(writer_, ProcessId{pid}) {}

RequestFile::~RequestFile() { stop_samples(); }

void RequestFile::start_samples() {
  thread_ = std::jthread{[this] { record_samples(); }};
  const Deadline deadline{kStart};
  while (!sampling_ && !ended_ && !deadline.passed()) std::this_thread::sleep_for(kLook);
}

void RequestFile::record_samples() {
  const int stop_fds[] = {stop_.get()};
  const RecordRequest request{.target = {.pid = pid_},
                              .providers = {.profiles = "cpu-sampling", .by_name = false},
                              .output_fd = cpu_.get(),
                              .measure_cost = false,
                              .stop_fds = stop_fds};
  const auto recorded = record(
      request, {.on_start = [this](const Process&, const EventSelection&) { sampling_ = true; }});
  if (recorded)
    samples_ = recorded->samples;
  else
    no_samples_ = recorded.error().what;
  ended_ = true;
}

void RequestFile::stop_samples() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

Result<> RequestFile::finish(const analyze::RequestProfile& profile) {
  const bool with_samples = thread_.joinable();
  TRY(events_.finish(profile, TraceClock::now()));
  TRY(writer_.finish());
  stop_samples();
  const auto put = [this](Bytes bytes) {
    bytes_ += bytes.size();
    return write_all(output_.fd(), bytes);
  };
  const auto requests = TRY(GuardedMapping::of(requests_.get(), written_));
  if (with_samples && no_samples_.empty()) {
    nettrace::Converter join{put};
    join.include(requests.bytes(), nettrace::Converter::Place::kInTime);
    TRY(read_trace_bytes(fmt::format("/proc/self/fd/{}", cpu_.get()),
                         [&](Bytes bytes) { return join.feed(bytes); }));
    TRY(join.finish());
  } else {
    TRY(put(requests.bytes()));
  }
  return output_.commit();
}

}  // namespace clrscope::ops
