#include "live/exception_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace clrscope::live {
namespace {

using analyze::Frame;

std::string key_of(const std::string& type, const std::vector<Frame>& frames) {
  auto key = type;
  for (const auto& frame : frames) key.append(1, '\n').append(frame.method);
  return key;
}

// FNV-1a.
std::string id_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:x}", hash);
}

void count(ExceptionGroup& group, const Thrown& thrown) {
  ++group.count;
  const auto same = std::ranges::find(group.messages, thrown.message, &ThrownMessage::text);
  if (same != group.messages.end())
    ++same->count;
  else if (group.messages.size() < ExceptionGroups::kMostMessages)
    group.messages.push_back({thrown.message, 1});
  else
    ++group.more_messages;
}

std::vector<analyze::Place> places_of(std::vector<Frame> frames,
                                      const std::vector<std::uint64_t>& addresses,
                                      const LineAt& line_at) {
  std::vector<analyze::Place> places;
  const auto skipped = addresses.size() - std::min(addresses.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    auto& frame = frames[i];
    const bool is_own = frame.kind == analyze::FrameKind::kManaged;
    if (auto line = line_at && is_own ? line_at(addresses[skipped + i] - 1) : std::nullopt) {
      frame.file = std::move(line->file);
      frame.line = line->line;
    }
    places.push_back(place_of(frame));
  }
  return places;
}

}  // namespace

ExceptionGroups group_exceptions(const std::vector<Thrown>& thrown, const FramesOf& frames_of,
                                 const LineAt& line_at) {
  struct Found {
    ExceptionGroup group;
    std::vector<Frame> frames;
    const Thrown* newest;
  };
  std::vector<Found> all;  // the newest first
  std::unordered_map<std::string, std::size_t> by_key;
  // Most have the addresses of another one: their names are the same.
  std::map<std::pair<std::string_view, std::vector<std::uint64_t>>, std::size_t> by_addresses;
  for (auto at = thrown.rbegin(); at != thrown.rend(); ++at) {
    const auto [raw, is_new] = by_addresses.try_emplace({at->type, at->addresses});
    if (is_new) {
      auto frames = frames_of(*at);
      const auto key = key_of(at->type, frames);
      const auto [named, is_first] = by_key.try_emplace(key, all.size());
      if (is_first)
        all.push_back(
            {.group = {.id = id_of(key), .type = at->type, .last = at->wall, .thread = at->thread},
             .frames = std::move(frames),
             .newest = &*at});
      raw->second = named->second;
    }
    count(all[raw->second].group, *at);
  }
  ExceptionGroups out;
  if (all.size() > ExceptionGroups::kMost) {
    out.more = all.size() - ExceptionGroups::kMost;
    all.resize(ExceptionGroups::kMost);
  }
  for (auto& one : all) {
    one.group.stack = places_of(std::move(one.frames), one.newest->addresses, line_at);
    out.groups.push_back(std::move(one.group));
  }
  const auto order = [](const ExceptionGroup& group) {
    return std::tuple{std::string_view{group.type},
                      group.stack.empty() ? std::string_view{} : group.stack.front().method,
                      std::string_view{group.id}};
  };
  std::ranges::sort(out.groups, {}, order);
  return out;
}

const Shape& shape_of(const ThrownMessage*) {
  using M = ThrownMessage;
  static const auto shape =
      describe<M>("ThrownMessage", "A message of exceptions",
                  {member<&M::text>("text", "the message; needs the scope trace"),
                   member<&M::count>("count", "exceptions that have it")});
  return shape;
}

const Shape& shape_of(const ExceptionGroup*) {
  using G = ExceptionGroup;
  static const auto shape = describe<G>(
      "ExceptionGroup", "Exceptions with the same type and the same methods on their stack",
      {member<&G::id>("id", "id of the group, the same in every answer"),
       member<&G::type>("type", "type of the exceptions"),
       member<&G::count>("count", "exceptions of the group among those that were grouped"),
       member<&G::last>("last", "time of the newest"),
       member<&G::thread>("osId", "operating system's thread id of the newest"),
       member<&G::stack>("stack",
                         "stack of the newest, from the throw outwards; with file and "
                         "line where they are known"),
       member<&G::messages>("messages", "different messages, the newest first"),
       member<&G::more_messages>("moreMessages", "exceptions with other messages")});
  return shape;
}

}  // namespace clrscope::live
