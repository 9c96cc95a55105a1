// The inside of Reader, for reader.cpp (bytes to blocks) and the files that read blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "nettrace/block_checks.h"
#include "nettrace/capture.h"
#include "nettrace/framing.h"
#include "nettrace/id_blocks.h"
#include "nettrace/metadata.h"
#include "nettrace/reader.h"
#include "nettrace/rows.h"
#include "nettrace/tick_range.h"

namespace clrscope::nettrace {

class Reader::Impl {
 public:
  Impl();

  Result<> feed(Bytes chunk, const OnBatch& on_batch);
  Result<> finish(const OnBatch& on_batch);

  StackView stack(StackId id);
  std::uint64_t whole_bytes() const { return offset_; }

  TraceInfo info;
  bool has_info = false;
  Summary summary;
  std::vector<Damage> damage;
  TypeTable types;
  CaptureTable captures;
  std::unordered_map<std::uint64_t, ThreadInfo> threads;

 private:
  // A block's bytes, and where they are in the trace.
  struct Block {
    Bytes content;
    std::uint64_t offset = 0;
    bool borrowed = false;  // lives as long as this call of feed()
    bool whole = true;
  };

  // reader.cpp
  Result<> feed_all(Bytes chunk, const OnBatch& on_batch);
  Result<std::size_t> process(Bytes in, bool borrowed, const OnBatch& on_batch);
  Result<std::size_t> read_magic(Bytes in);
  std::size_t resynchronize(Bytes in);
  Frame next_frame(Bytes in) const;
  Result<> read_block(const Frame& frame, const Block& block, const OnBatch& on_batch);
  Result<> finish_tail(const OnBatch& on_batch);
  Bytes pending() const { return Bytes{pending_}.subspan(pending_begin_); }
  void drop_pending(std::size_t count);
  void note(std::uint64_t offset, std::string what);

  // trace_header.cpp, event_blocks.cpp, blocks.cpp
  Result<> read_trace(const Block& block, std::uint32_t version);
  Result<> read_trace_v6(const Block& block);
  void read_events(const Block& block, const OnBatch& on_batch);
  void read_events_v3(const Block& block, const OnBatch& on_batch);
  template <RowFormat F>
  void read_rows(Bytes rows, const Block& block, const OnBatch& on_batch);
  void read_metadata(const Block& block);
  void read_metadata_v6(const Block& block);
  void read_sequence_point(const Block& block, const OnBatch& on_batch);
  void read_stacks(const Block& block);
  void read_threads(const Block& block);
  void read_removed_threads(const Block& block);
  void read_labels(const Block& block);
  void read_check(const Block& block);
  void read_source(const Block& block);

  void checkpoint(std::uint64_t capture, std::uint32_t sequence);
  const EventLabels* labels_of(std::uint32_t id);
  void forget_decoded_labels();
  void note_invalid_times(std::uint64_t offset, std::uint64_t events);
  void flush(const OnBatch& on_batch);

  bool v6() const { return info.version >= 6; }

  static constexpr std::size_t kBatch =
      1024;  // events; keeps a batch within the second-level cache

  std::vector<Event> batch_;
  std::size_t filled_ = 0;
  std::vector<Bytes> inline_stacks_;  // V3: of this batch, by id - 1
  std::unordered_map<std::uint32_t, EventLabels> decoded_labels_;
  std::size_t decoded_label_bytes_ = 0;
  std::size_t thread_bytes_ = 0;

  IdBlocks stacks_;
  IdBlocks labels_;

  TickRange valid_ticks_;

  bool has_checks_ = false;
  BlockChecks checks_;  // of the blocks since the last check
  std::uint64_t checked_from_ = 0;
  std::uint64_t damaged_before_ = 0;  // the last check
  bool source_truncated_ = false;

  bool started_ = false;  // the magic was read
  bool netperf_ = false;
  bool scanning_ = false;     // looking for a block after damage
  std::uint64_t offset_ = 0;  // of the next byte to be read
  std::size_t need_ = 0;
  std::vector<std::uint8_t> pending_;  // from pending_begin_ on: the start of a block not yet whole
  std::size_t pending_begin_ = 0;
  std::optional<Error> error_;
};

}  // namespace clrscope::nettrace
