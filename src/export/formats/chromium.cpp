// Trace events for Perfetto (ui.perfetto.dev) and chrome://tracing: slices of frames by thread.
//
// Slices are pairs of begin and end, as dotnet-trace writes them: they nest by their order in the
// file, so that two that begin in the same microsecond cannot change places. Ends are named too:
// some readers (speedscope) bring pairs together by name.
#include <utility>
#include <vector>

#include "analyze/profile.h"
#include "base/clock.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "export/quoted.h"
#include "export/timeline.h"

namespace clrscope::exports {
namespace {

using analyze::Profile;
using analyze::ProfileThread;

// An event up to its time: names are escaped once.
struct Slice {
  std::string begin, end;
};

Slice slice(std::string_view name, std::string_view category, std::string_view arguments = {}) {
  const auto rest = "\"name\":" + quoted(name) + ",\"cat\":" + quoted(category);
  return {"{\"ph\":\"B\"," + rest + std::string{arguments} + ",\"ts\":",
          "{\"ph\":\"E\"," + rest + ",\"ts\":"};
}

// The source, where it is known.
std::string arguments_of(const analyze::Frame& frame) {
  if (frame.line == 0) return {};
  return ",\"args\":{\"file\":" + quoted(frame.file) + ",\"line\":" + std::to_string(frame.line) +
         "}";
}

std::vector<Slice> slices(const Profile& profile) {
  std::vector<Slice> all;
  all.reserve(profile.frames.size() + 2);
  for (const auto& frame : profile.frames)
    all.push_back(slice(frame.method, frame.module.empty() ? to_string(frame.kind) : frame.module,
                        arguments_of(frame)));
  all.push_back(slice(kRunningName, "state"));
  all.push_back(slice(kWaitingName, "state"));
  return all;
}

class TraceEvents {
 public:
  TraceEvents(const Profile& profile, ByteSink& out)
      : profile_(profile), out_(out), slices_(slices(profile)), timeline_(profile) {}

  void write_processes() {
    for (const auto& process : profile_.processes) {
      if (process.name.empty()) continue;
      begin().write("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
      out_.number(static_cast<std::int32_t>(process.process));
      out_.write(",\"args\":{\"name\":").write(quoted(process.name)).write("}}");
    }
  }

  void write_thread(const ProfileThread& thread) {
    const std::string title =
        thread.name.empty() ? thread_title(Profile{}, thread) : std::string{thread.name};
    std::string place = ",\"pid\":" + std::to_string(static_cast<std::int32_t>(thread.process)) +
                        ",\"tid\":" + std::to_string(static_cast<std::uint64_t>(thread.thread));
    begin().write("{\"ph\":\"M\",\"name\":\"thread_name\"").write(place);
    out_.write(",\"args\":{\"name\":").write(quoted(title)).write("}}");
    place += "}";
    timeline_.walk(
        thread,
        [&](std::uint32_t frame, std::uint64_t at) {
          begin().write(slices_[frame].begin).number(at).write(place);
        },
        [&](std::uint32_t frame, std::uint64_t at) {
          begin().write(slices_[frame].end).number(at).write(place);
        });
  }

 private:
  ByteSink& begin() { return out_.write(std::exchange(separator_, ",\n")); }

  const Profile& profile_;
  ByteSink& out_;
  std::vector<Slice> slices_;
  Timeline timeline_;
  std::string_view separator_ = "\n";
};

Result<> write(const Profile& profile, ByteSink& out) {
  out.write("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"exporter\":\"clrscope\",\"name\":");
  out.write(quoted(profile_title(profile))).write(",\"startTime\":");
  out.write(quoted(iso8601(profile.start))).write(",\"samples\":").number(profile.samples.size());
  out.write(",\"lost\":").number(profile.lost).write("},\"traceEvents\":[");
  TraceEvents events{profile, out};
  events.write_processes();
  for (const auto& thread : profile.threads)
    if (!thread.samples.empty() && out.ok()) events.write_thread(thread);
  out.write("]}\n");
  return out.finish();
}

}  // namespace

extern const Format chromium_format{
    .name = "chromium",
    .extension = ".chromium.json",
    .summary = "slices by thread, for Perfetto and chrome://tracing",
    .write = write,
};

}  // namespace clrscope::exports
