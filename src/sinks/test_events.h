// For tests: a sink as --to names it, and numbered events of a process, in a block as the hub makes
// it.
#pragma once

#include <stdlib.h>

#include <filesystem>

#include "hub/block.h"
#include "sinks/own_events.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {

class TestProcess {
 public:
  explicit TestProcess(pid_t pid, std::uint64_t reader = 1) : reader_(reader) {
    info_ = std::make_shared<const hub::SourceInfo>(hub::SourceInfo{
        .id = static_cast<std::uint64_t>(pid), .pid = pid, .process = "shop", .runtime = "10.0.1"});
    EventType type{.index = 0, .provider = "Shop", .name = "Sold", .id = 7};
    type.level = 4;
    type.fields = {{.name = "n", .type = TypeCode::kInt32},
                   {.name = "what", .type = TypeCode::kUtf16Text}};
    type_ = std::make_shared<const EventType>(std::move(type));
  }

  const hub::SourceInfo& info() const { return *info_; }

  // Events first, first + 1, …, each a microsecond after the one before.
  hub::Batch batch(std::int32_t first, std::uint32_t count, TraceTime begin) const {
    const auto block =
        std::make_shared<hub::Block>(info_, type_, reader_, wall_offset_now(), std::uint32_t{8});
    hub::Batch batch{.block = block, .rows = {}};
    for (std::uint32_t i = 0; i < count; ++i) {
      ByteWriter payload;
      payload.write(first + static_cast<std::int32_t>(i));
      for (const char16_t unit : {u'a', u'é', u'\0'}) payload.write(unit);
      const std::uint64_t stack[] = {0x1000 + i, 0x2000};
      const auto time = begin + std::chrono::microseconds{i};
      batch.rows.push_back(block->add(
          {.type = type_.get(),
           .time = time,
           .ticks = time.time_since_epoch().count(),
           .thread = ThreadId{11},
           .capture_thread = 11,
           .payload = payload.bytes(),
           .process = ProcessId{1}},  // what it knows itself by
          StackView{Bytes{reinterpret_cast<const std::uint8_t*>(stack), sizeof stack}, 8}));
    }
    return batch;
  }

 private:
  std::shared_ptr<const hub::SourceInfo> info_;
  std::shared_ptr<const EventType> type_;
  std::uint64_t reader_;
};

// A folder that goes with its owner.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sinks-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string{name}; }

 private:
  std::string path_;
};

inline std::unique_ptr<hub::Sink> make_sink(const std::string& text) {
  const auto address = parse_sink(text);
  CHECK(address);
  auto sink = address->kind->make(*address, {});
  CHECK(sink);
  return *std::move(sink);
}

inline hub::CounterValue test_value() {
  hub::CounterValue value{.time = wall_now(), .pid = 7, .process = "shop"};
  value.provider = "Shop.Meter";
  value.name = "orders";
  value.unit = "{order}";
  value.tags = {{"route", "/a"}, {"status", "200"}};
  value.value = 12.5;
  value.interval = std::chrono::seconds{1};
  value.quantiles = {{0.5, 12.5}, {0.95, 40}};
  return value;
}

}  // namespace clrscope::sinks
