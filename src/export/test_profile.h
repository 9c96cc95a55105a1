// Small profiles made by hand, for the tests of the formats.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/profile.h"
#include "export/byte_sink.h"
#include "export/format.h"

namespace clrscope::exports {

class TestProfile {
 public:
  TestProfile() {
    profile.stacks.emplace_back();
    profile.from = TraceTime{std::chrono::seconds{100}};
    profile.to = profile.from;
    profile.start = WallTime{std::chrono::seconds{1'700'000'000}};
    profile.processes.push_back({.process = ProcessId{7}, .name = "Shop"});
  }

  std::uint32_t thread(std::uint64_t id, std::string name = "") {
    profile.threads.push_back(
        {.process = ProcessId{7}, .thread = ThreadId{id}, .name = std::move(name)});
    return static_cast<std::uint32_t>(profile.threads.size() - 1);
  }

  // Root first; "Module!Method" or "Method".
  analyze::StackNodeId stack(const std::vector<std::string>& names) {
    analyze::StackNodeId at = analyze::kNoStack;
    for (const auto& name : names) at = child(at, frame(name));
    return at;
  }

  void sample(std::uint32_t thread, double at_ms, double weight_ms, analyze::StackNodeId stack,
              analyze::ThreadState state = analyze::ThreadState::kUnknown) {
    const auto ns = [](double ms) {
      return std::chrono::nanoseconds{static_cast<std::int64_t>(ms * 1e6)};
    };
    profile.threads[thread].samples.push_back(static_cast<std::uint32_t>(profile.samples.size()));
    profile.samples.push_back({.time = profile.from + ns(at_ms),
                               .weight = ns(weight_ms),
                               .thread = thread,
                               .stack = stack,
                               .state = state});
    profile.to = std::max(profile.to, profile.samples.back().time);
  }

  std::string write(std::string_view format) const {
    std::string text;
    ByteSink out{text};
    const Format* found = find_format(format);
    CHECK(found && found->write);
    CHECK(found->write(profile, out));
    return text;
  }

  analyze::Profile profile;

 private:
  analyze::FrameId frame(const std::string& name) {
    const auto bang = name.find('!');
    analyze::Frame made{.method = bang == std::string::npos ? name : name.substr(bang + 1),
                        .module = bang == std::string::npos ? "" : name.substr(0, bang),
                        .kind = analyze::FrameKind::kManaged};
    for (std::size_t i = 0; i < profile.frames.size(); ++i)
      if (profile.frames[i] == made) return static_cast<analyze::FrameId>(i);
    profile.frames.push_back(std::move(made));
    return static_cast<analyze::FrameId>(profile.frames.size() - 1);
  }
  analyze::StackNodeId child(analyze::StackNodeId parent, analyze::FrameId frame) {
    for (std::size_t i = 1; i < profile.stacks.size(); ++i)
      if (profile.stacks[i].parent == parent && profile.stacks[i].frame == frame)
        return static_cast<analyze::StackNodeId>(i);
    profile.stacks.push_back({.parent = parent, .frame = frame});
    return static_cast<analyze::StackNodeId>(profile.stacks.size() - 1);
  }
};

}  // namespace clrscope::exports
