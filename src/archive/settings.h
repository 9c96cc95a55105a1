// Where stored artifacts are, how much disk they may use, and which processes are shown. Data only.
#pragma once

#include <cstdint>
#include <string>

#include "ops/visibility.h"

namespace clrscope::archive {

struct ArchiveSettings {
  std::string folder{};                    // keys, recordings, reports, audit log
  std::uint64_t disk_limit = 2ULL << 30;   // of recordings, uploads, conversions, request profiles
  std::uint64_t least_free = 32ULL << 20;  // of the disk: less is full
  ops::Visibility visible{};               // others are neither listed nor found
};

}  // namespace clrscope::archive
