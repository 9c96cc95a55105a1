// What a listener heard of `samples flood --kinds`.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "hub/hub.h"

namespace clrscope::live {

struct Heard {
  // By kind of event and thread of the sample: the sequence numbers, in order of arrival.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::int64_t>> numbers{};
  std::map<std::uint32_t, std::uint64_t> counts{};  // by kind
  std::uint64_t dropped = 0;
};

class KindsSink final : public hub::Sink {
 public:
  using Shared = std::shared_ptr<Guarded<Heard>>;
  explicit KindsSink(Shared heard) : heard_(std::move(heard)) {}

  Result<> on_batch(const hub::Batch& batch) override {
    heard_->with([&](Heard& heard) {
      for (const auto row : batch.rows) {
        const auto& event = batch.block->events()[row];
        ++heard.counts[event.type->id];
        std::int64_t fields[2];
        if (event.payload.size() < sizeof fields) continue;
        std::memcpy(fields, event.payload.data(), sizeof fields);
        heard.numbers[{event.type->id, fields[0]}].push_back(fields[1]);
      }
    });
    return {};
  }
  Result<> on_dropped(std::uint64_t events) override {
    heard_->with([&](Heard& heard) { heard.dropped += events; });
    return {};
  }

 private:
  Shared heard_;
};

}  // namespace clrscope::live
