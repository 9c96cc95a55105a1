// Self times summed by call path, and the tree that they make.
#pragma once

#include "store/answers.h"
#include "store/sqlite/chunk_sums.h"
#include "store/sqlite/names.h"

namespace clrscope::store {

class PathSums {
 public:
  // Paths of larger numbers, which came meanwhile, are left out.
  void resize(std::size_t paths) { sums_.resize(paths + 1); }
  void add(const ChunkStacks& stacks, std::size_t first, std::size_t count);  // holds them
  Result<std::uint64_t> add(const SumGroup& group);  // how many spans they are
  void write(const Names& names, Flame& flame) const;

 private:
  struct Sum {
    std::uint64_t self = 0;
    std::uint64_t calls = 0;
  };
  std::vector<Sum> sums_;  // by path
};

}  // namespace clrscope::store
