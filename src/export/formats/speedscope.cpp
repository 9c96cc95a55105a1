// The file format of speedscope.app: frames once, then one evented profile per thread.
//
// Times and names of states are those of dotnet-trace's conversion, so that the two compare; the
// module stands as the frame's file, by which speedscope chooses colours, unless the source is
// known.
#include <algorithm>
#include <vector>

#include "analyze/profile.h"
#include "base/clock.h"
#include "base/json.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "export/quoted.h"
#include "export/timeline.h"

namespace clrscope::exports {
namespace {

using analyze::Profile;
using analyze::ProfileThread;
using analyze::ThreadState;

void write_frames(const Profile& profile, ByteSink& out) {
  std::string line;
  for (const auto& frame : profile.frames) {
    line = "{\"name\":";
    append_json_string(line, frame.method);
    if (frame.line != 0) {
      line += ",\"file\":";
      append_json_string(line, frame.file);
      line += ",\"line\":" + std::to_string(frame.line);
    } else if (!frame.module.empty()) {
      line += ",\"file\":";
      append_json_string(line, frame.module);
    }
    line += "},\n";
    out.write(line);
  }
  out.write("{\"name\":").write(quoted(kRunningName)).write("},\n");
  out.write("{\"name\":").write(quoted(kWaitingName)).write("}");
}

// The span that a thread's timeline fills, in microseconds.
struct Extent {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;

  void take(std::uint64_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

// The events come first and the extent after them: it is known only then, and order does not
// matter.
void write_thread(const Profile& profile, const ProfileThread& thread, Timeline& timeline,
                  ByteSink& out) {
  out.write("{\"type\":\"evented\",\"name\":").write(quoted(thread_title(profile, thread)));
  out.write(",\"unit\":\"milliseconds\",\"events\":[");
  Extent extent;
  std::string_view separator = "\n";
  const auto event = [&](std::string_view kind, std::uint32_t frame, std::uint64_t at) {
    extent.take(at);
    out.write(separator).write(kind).number(frame).write(",\"at\":").thousandths(at).write("}");
    separator = ",\n";
  };
  timeline.walk(
      thread,
      [&](std::uint32_t frame, std::uint64_t at) {
        event("{\"type\":\"O\",\"frame\":", frame, at);
      },
      [&](std::uint32_t frame, std::uint64_t at) {
        event("{\"type\":\"C\",\"frame\":", frame, at);
      });
  if (extent.begin > extent.end) extent.begin = extent.end;
  out.write("],\"startValue\":").thousandths(extent.begin);
  out.write(",\"endValue\":").thousandths(extent.end).write("}");
}

// The thread that ran most is the one to look at first.
std::vector<const ProfileThread*> shown_threads(const Profile& profile) {
  std::vector<const ProfileThread*> shown;
  for (const auto& thread : profile.threads)
    if (!thread.samples.empty()) shown.push_back(&thread);
  return shown;
}

std::size_t busiest(const Profile& profile, const std::vector<const ProfileThread*>& threads) {
  std::vector<std::uint64_t> running(profile.threads.size());
  for (const auto& sample : profile.samples)
    if (sample.state != ThreadState::kWaiting) ++running[sample.thread];
  std::size_t best = 0;
  const auto ran = [&](std::size_t i) {
    return running[static_cast<std::size_t>(threads[i] - profile.threads.data())];
  };
  for (std::size_t i = 1; i < threads.size(); ++i)
    if (ran(i) > ran(best)) best = i;
  return best;
}

Result<> write(const Profile& profile, ByteSink& out) {
  const auto threads = shown_threads(profile);
  out.write("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"");
  out.write(",\"exporter\":\"clrscope\",\"name\":").write(quoted(profile_title(profile)));
  out.write(",\"activeProfileIndex\":").number(busiest(profile, threads));
  out.write(",\"startTime\":").write(quoted(iso8601(profile.start)));
  out.write(",\"samples\":")
      .number(profile.samples.size())
      .write(",\"lost\":")
      .number(profile.lost);
  out.write(",\"shared\":{\"frames\":[\n");
  write_frames(profile, out);
  out.write("]},\"profiles\":[");
  Timeline timeline{profile};
  for (std::size_t i = 0; i < threads.size() && out.ok(); ++i) {
    out.write(i > 0 ? ",\n" : "\n");
    write_thread(profile, *threads[i], timeline, out);
  }
  out.write("]}\n");
  return out.finish();
}

}  // namespace

extern const Format speedscope_format{
    .name = "speedscope",
    .extension = ".speedscope.json",
    .summary = "flame charts by thread, for speedscope.app",
    .write = write,
};

}  // namespace clrscope::exports
