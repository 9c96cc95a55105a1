// Addresses of a trace to frames with names: by the runtime's load, unload and rundown events, and
// by the mappings and symbols of a V6 trace.
//
// Give it every event; ask it when the trace is read, since most names come at its end. Frames are
// interned by name, so that a method's several bodies are one frame.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/managed_lines.h"
#include "analyze/profile.h"
#include "analyze/providers.h"
#include "model/event.h"
#include "symbols/method_map.h"
#include "symbols/universal_map.h"

namespace clrscope::analyze {

// Each frame once. With `lines`, a method has a frame for each line of its that occurs.
class FrameTable {
 public:
  explicit FrameTable(SourceLines* lines = nullptr) : lines_(lines) {}

  SourceLines* lines() const { return lines_; }
  FrameId intern(Frame frame);
  const Frame& frame(FrameId id) const { return frames_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return frames_.size(); }
  std::vector<Frame> take() && { return std::move(frames_); }

 private:
  SourceLines* lines_;
  std::vector<Frame> frames_;
  HashIndex index_;
};

// Whether an address is where execution stands, or where it will return to (one byte after a call,
// which may be one byte after its method).
enum class AddressKind : std::uint8_t { kExact, kReturn };

// Address to frame, found before. Open addressing in two flat tables: asked for every frame of
// every distinct stack.
class AddressCache {
 public:
  static constexpr FrameId kNone{0xffffffff};

  FrameId find(std::uint64_t key) const {
    if (ids_.empty()) return kNone;
    return ids_[place(key)];
  }
  void insert(std::uint64_t key, FrameId id) {
    if ((used_ + 1) * 2 > ids_.size()) grow();
    const auto at = place(key);
    if (ids_[at] == kNone) ++used_;
    keys_[at] = key;
    ids_[at] = id;
  }

 private:
  // Where the key is, or would be.
  std::size_t place(std::uint64_t key) const {
    const auto mask = ids_.size() - 1;
    auto at = (key * 0x9e3779b97f4a7c15ULL >> 24) & mask;
    while (ids_[at] != kNone && keys_[at] != key) at = (at + 1) & mask;
    return at;
  }
  void grow();

  std::vector<std::uint64_t> keys_;
  std::vector<FrameId> ids_;
  std::size_t used_ = 0;
};

class Symbolizer {
 public:
  explicit Symbolizer(FrameTable& frames) : frames_(frames) {}

  // Takes note of events that name something; others cost one comparison.
  void on_event(const Event& event, Provider provider);

  // From now on only methods that one of these addresses belongs to: sorted, each once.
  void keep_only(std::vector<std::uint64_t> addresses) { wanted_ = std::move(addresses); }

  FrameId frame(ProcessId process, std::uint64_t address, TraceTime when, AddressKind kind);

  // For a trace that is still being recorded: what was found may have got a better name since.
  void forget_found();

  // The frames of a stack of addresses, leaf first, into `out`.
  void frames(ProcessId process, std::span<const std::uint64_t> addresses, TraceTime when,
              std::vector<FrameId>& out);

 private:
  struct Space {  // one process's addresses
    MethodMap methods;
    UniversalMap native;
    std::unordered_map<std::uint64_t, std::string> build_ids;  // by metadata's id
    AddressCache cache;                  // of addresses that never meant two things
    std::vector<FrameId> method_frames;  // by MethodMap::index()
    ManagedLines lines;                  // empty unless asked for
    bool has_rundown = false;
  };

  void on_method(const Event& event, std::uint32_t id);
  bool is_wanted(const MethodCode& code) const;
  void on_module(const Event& event, bool of_domain);
  void on_map(const Event& event, ManagedLines::Order order);
  void on_universal(const Event& event);
  void on_mapping_metadata(const Event& event);
  MethodMap::Found method_at(Space& space, std::uint64_t address, TraceTime when, AddressKind kind);
  FrameId method_frame(Space& space, const Method& method);
  // Of a compiled expression; nothing for others, and where what it calls is not known.
  std::optional<FrameId> lambda_frame(Space& space, const Method& method, TraceTime when);
  FrameId method_frame_at(Space& space, const Method& method, std::uint64_t address,
                          TraceTime when);
  void fold_helpers(std::span<FrameId> frames);
  // Code in nobody's file is a stub where the process has told all its methods, else perhaps one
  // of them.
  FrameId native_frame(std::uint64_t address, const UniversalMap::Found& found, bool has_rundown);

  FrameTable& frames_;
  std::optional<std::vector<std::uint64_t>> wanted_;
  std::unordered_map<ProcessId, Space> spaces_;
  UniversalMap kernel_;  // the same for all processes
};

}  // namespace clrscope::analyze
