// Names and call paths of a store, each with a number from 1 on. A call path is its caller's path
// and a method.
//
// Belongs to the store's lock. What was added is written by the next transaction that is
// committed; until then it is added again by every one that is tried.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace clrscope::store {

struct CallPath {
  std::uint32_t parent = 0;  // 0: none
  std::uint32_t method = 0;  // name
};

class Names {
 public:
  // Beyond these, what is new becomes "(other)": a host that invents names fills neither memory nor
  // disk.
  static constexpr std::size_t kMostNames = 1'000'000;
  static constexpr std::size_t kMostPaths = 4'000'000;

  Result<> load(Database& database);

  std::uint32_t name_of(std::string_view text);     // 0 of an empty one
  std::uint32_t find(std::string_view text) const;  // 0: not there
  std::uint32_t path_of(std::uint32_t parent, std::uint32_t method);

  const std::string& text(std::uint32_t name) const;
  CallPath path(std::uint32_t path) const;
  std::size_t paths() const { return paths_.size(); }

  // Within a transaction; committed() after it.
  Result<> write_new(Database& database) const;
  void committed() { saved_names_ = texts_.size(), saved_paths_ = paths_.size(); }

 private:
  void add_path(CallPath path);
  void grow();
  std::size_t slot_of(CallPath path) const;

  std::vector<std::string> texts_;  // by number - 1
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> by_text_;
  std::vector<CallPath> paths_;       // by number - 1
  std::vector<std::uint32_t> slots_;  // hash table of path numbers; 0: empty
  std::size_t saved_names_ = 0, saved_paths_ = 0;
};

}  // namespace clrscope::store
