// Event manifests as EventSources send them: XML in pieces, event 0xFFFE of each provider.
//
// add() takes such an event's payload; when a provider's last piece has come, its events can be
// found. Tolerant: what cannot be understood is left out. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/event.h"
#include "nettrace/payload_plan.h"

namespace clrscope::nettrace {

struct ManifestEvent {
  std::uint32_t id = 0;
  std::uint32_t version = 0;
  std::uint8_t level = 0;
  std::uint8_t opcode = 0;
  std::uint64_t keywords = 0;
  std::string name{};
  std::vector<FieldSpec> fields{};
};

struct Manifest {
  std::string provider{};
  std::string guid{};  // without braces
  std::vector<std::pair<std::string, std::uint64_t>> keywords{};
  std::vector<std::unique_ptr<ValueNames>> names{};   // maps; what fields point to
  std::vector<std::unique_ptr<std::string>> texts{};  // what the names point into
  std::vector<ManifestEvent> events{};
};

inline constexpr std::uint32_t kManifestEventId = 0xfffe;

// The providers that a manifest file describes; pointers are 8 bytes by default.
std::vector<Manifest> parse_manifest(std::string_view xml, std::uint32_t pointer_size = 8);

class ManifestSet {
 public:
  explicit ManifestSet(std::uint32_t pointer_size = 8) : pointer_size_(pointer_size) {}

  // One piece, as it stands in the payload: format, major, minor, magic, count, index, text. False
  // when it is no such piece.
  bool add(std::string_view provider, Bytes payload);

  std::size_t size() const { return manifests_.size(); }
  const Manifest* of(std::string_view provider) const;
  const ManifestEvent* find(const EventType& type) const;

 private:
  struct Pieces {
    std::uint16_t total = 0;
    std::map<std::uint16_t, std::string> pieces{};
    std::size_t bytes = 0;
  };
  std::uint32_t pointer_size_;
  std::map<std::string, Pieces, std::less<>> incomplete_;
  std::map<std::string, std::unique_ptr<Manifest>, std::less<>> manifests_;
};

}  // namespace clrscope::nettrace
