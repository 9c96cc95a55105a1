// Whether traces are whole: how many events are missing, as far as their format tells.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "analyze/words.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {

// Version 3 does not number its events: nobody sees that one is missing.
inline bool tells_loss(const nettrace::TraceInfo& info) { return info.version > 3; }

class Losses {
 public:
  void end_of_trace(const nettrace::Reader& reader) {
    lost_ += reader.summary().lost;
    damaged_ += reader.summary().damaged;
    told_ = told_ && (!reader.info() || tells_loss(*reader.info()));
  }
  // "none lost", "12 lost (0.1 %): what follows is incomplete"
  std::string text(std::uint64_t events) const {
    if (lost_ > 0)
      return fmt::format("{} {} ({}): what follows is incomplete", count_text(lost_),
                         damaged_ > 0 ? "lost or unreadable" : "lost",
                         share_text(lost_, lost_ + events));
    return told_ ? "none lost" : "this version of the format does not record losses";
  }

 private:
  std::uint64_t lost_ = 0, damaged_ = 0;
  bool told_ = true;
};

}  // namespace clrscope::analyze
