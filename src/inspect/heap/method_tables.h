// How objects of a type lie in memory, by the address of their method table: size, and where their
// references are.
//
// Read from the method table itself and from the collector's description before it, which are the
// same on .NET 8, 9 and 10. Any word may be asked about: a method table is one whose class points
// back to it. Belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "inspect/memory.h"
#include "inspect/target.h"

namespace clrscope::inspect {

struct ObjectLayout {
  // References in a row: `length` bytes beyond the object's own size, as the collector counts.
  struct Series {
    std::int64_t length = 0;
    std::uint64_t offset = 0;
  };
  // Of one element of an array of structures: so many references, then so many other bytes.
  struct Piece {
    std::uint32_t references = 0;
    std::uint32_t skipped = 0;
  };
  static constexpr std::uint32_t kNoType = 0xffffffff;

  std::uint64_t table = 0;
  std::uint32_t base_size = 0;
  std::uint32_t component_size = 0;
  std::uint32_t type = kNoType;  // number in HeapGraph::types, once there is an object
  bool is_free = false;          // a hole between objects, in the shape of one
  bool is_string = false;
  bool collectible = false;       // keeps its assembly alive, which may be unloaded
  std::vector<Series> series{};   // of objects and of arrays of references
  std::vector<Piece> pieces{};    // of arrays of structures
  std::uint64_t first_piece = 0;  // offset

  bool has_references() const { return !series.empty() || !pieces.empty(); }
  // Of an object with so many elements, as the collector lays it out.
  std::uint64_t size_of(std::uint32_t elements) const {
    const auto size = base_size + std::uint64_t{elements} * component_size;
    return size < kLeastObject ? kLeastObject : (size + 7) & ~std::uint64_t{7};
  }

  static constexpr std::uint64_t kLeastObject = 24;
};

class MethodTables {
 public:
  explicit MethodTables(Target& target);

  // Null when it is no method table. Lives as long as this.
  ObjectLayout* find(std::uint64_t table) {
    auto& near = near_[(table >> 4) % near_.size()];
    if (near && near->table == table) return near;
    auto* const found = look_up(table);
    if (found) near = found;
    return found;
  }
  // Those that were found.
  const std::vector<ObjectLayout*>& all() const { return known_; }

 private:
  ObjectLayout* look_up(std::uint64_t table);
  std::unique_ptr<ObjectLayout> read(std::uint64_t table);
  bool class_points_back(std::uint64_t table);
  bool read_references(ObjectLayout& layout);
  bool is_mapped(std::uint64_t address) const;

  Memory memory_;
  std::vector<Mapping> mappings_;                                            // by start
  std::unordered_map<std::uint64_t, std::unique_ptr<ObjectLayout>> tables_;  // null: is none
  std::vector<ObjectLayout*> known_;
  std::array<ObjectLayout*, 4096> near_{};
};

}  // namespace clrscope::inspect
