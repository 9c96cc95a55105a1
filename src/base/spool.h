// Messages that wait on disk: they outlive an outage of their peer and the end of clrscope, also by
// kill -9 at any instant.
//
// A folder with a log in segments ("segment-…"), the place up to which messages were delivered
// ("position") and a lock. Each record carries its length and a checksum; a torn or damaged one is
// skipped and counted. Nothing is synced: a power cut may lose what the kernel had not written yet.
//
//   record:    magic u32, length u32, items u32, checksum u32 of length, items and text; text
//   position:  two slots, written in turn; the newer one with a right checksum counts
//              sequence u64, segment u64, offset u64, checksum u32, 0 u32
#pragma once

#include <map>
#include <memory>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/waiting.h"

namespace clrscope {

class Spool final : public Waiting {
 public:
  // Goes on where the last one stopped. `limit`: bytes that may wait.
  static Result<std::unique_ptr<Spool>> open(const std::string& folder, std::uint64_t limit);

  // Whether it could be opened now. False: another one of ours has it; it is a failure when another
  // clrscope has.
  static Result<bool> is_free(const std::string& folder);

  Result<> push(std::string message, std::uint32_t items) override;
  std::optional<Message> take() override;
  void give_back() override;
  std::uint64_t forget(std::size_t count) override;
  std::size_t taken() const override { return taken_.size(); }
  std::uint64_t items(std::size_t count) const override;
  std::uint64_t bytes_after(std::size_t count) const override;
  std::uint64_t damaged() const override { return damaged_; }

 private:
  struct Place {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
  };
  struct Taken {
    Place end{};
    std::uint32_t items = 0;
  };

  Spool(std::string folder, std::uint64_t limit);
  Result<> find_segments();
  Result<> read_position();
  void commit(Place place);
  std::string path_of(std::uint64_t segment) const;
  Result<> begin_segment();
  Result<> append(Bytes record);
  std::optional<Message> read_record(const Place& place, std::uint64_t segment_size);
  std::uint64_t next_whole_record(const Place& place, std::uint64_t segment_size);
  void skip_to(const Place& place);

  const std::string folder_;
  const std::uint64_t limit_;
  const std::uint64_t segment_limit_;
  UniqueFd lock_, position_;
  std::map<std::uint64_t, std::uint64_t> segments_;  // id → size
  std::uint64_t last_segment_ = 0;                   // highest id that was ever used
  UniqueFd writing_;                                 // the last segment, once we wrote
  UniqueFd reading_;
  std::uint64_t reading_segment_ = 0;
  Place delivered_, read_;
  std::uint64_t sequence_ = 0;
  std::deque<Taken> taken_;
  std::uint64_t damaged_ = 0;
};

// A folder's name for any text: what is odd in it becomes '_', and a checksum keeps two apart.
std::string folder_name(std::string_view text);

}  // namespace clrscope
