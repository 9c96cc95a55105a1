// Folded stacks: "root;child;leaf 42", one line per stack, counted in samples; in microseconds
// where the kernel took them, since its samples stand for different times.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "analyze/profile.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "export/timeline.h"

namespace clrscope::exports {
namespace {

using analyze::FrameId;
using analyze::Profile;
using analyze::ThreadState;

constexpr std::size_t kStates = 3;
constexpr std::uint64_t kSample = 1000;  // one, or one microsecond of a sample in ns

// What separates frames and lines cannot stand in a name.
std::string plain(std::string_view name) {
  std::string text{name};
  for (char& c : text) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

std::string_view state_name(ThreadState state) {
  if (state == ThreadState::kRunning) return kRunningName;
  return state == ThreadState::kWaiting ? kWaitingName : "";
}

void write_line(const std::vector<FrameId>& frames, const std::vector<std::string>& names,
                std::string_view state, std::uint64_t value, ByteSink& out) {
  std::string_view separator;
  for (const FrameId frame : frames) {
    out.write(separator).write(names[static_cast<std::size_t>(frame)]);
    separator = ";";
  }
  if (!state.empty()) out.write(separator).write(state);
  if (frames.empty() && state.empty()) out.write("?");
  out.write(" ").number(value).write("\n");
}

Result<> write(const Profile& profile, ByteSink& out) {
  using Sums = std::array<std::uint64_t, kStates>;
  std::vector<Sums> sums(profile.stacks.size() + 1);
  for (const auto& sample : profile.samples)
    sums[static_cast<std::size_t>(sample.stack)][static_cast<std::size_t>(sample.state)] +=
        profile.by_kernel ? static_cast<std::uint64_t>(sample.weight.count()) : kSample;

  std::vector<std::string> names;
  names.reserve(profile.frames.size());
  for (const auto& frame : profile.frames) {
    const auto place = place_text(frame);
    names.push_back(plain(place.empty() ? frame.method : frame.method + " " + place));
  }

  std::vector<FrameId> frames;
  for (std::size_t stack = 0; stack < sums.size() && out.ok(); ++stack) {
    if (sums[stack] == Sums{}) continue;
    profile.frames_of(static_cast<analyze::StackNodeId>(stack), frames);
    for (std::size_t state = 0; state < kStates; ++state)
      if (sums[stack][state] > 0)
        write_line(frames, names, state_name(static_cast<ThreadState>(state)),
                   (sums[stack][state] + kSample / 2) / kSample, out);
  }
  return out.finish();
}

}  // namespace

extern const Format collapsed_format{
    .name = "collapsed",
    .extension = ".folded",
    .summary = "folded stacks for flame graph tools",
    .write = write,
};

}  // namespace clrscope::exports
