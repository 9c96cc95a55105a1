#include "base/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>

#include "base/checksum.h"
#include "base/io.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "base/text.h"

namespace clrscope {
namespace {

constexpr std::uint32_t kMagic = 0x50534c43;  // "CLSP"
constexpr std::uint32_t kLongest = 16 << 20;
constexpr std::string_view kSegment = "segment-";

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t length = 0;
  std::uint32_t items = 0;
  std::uint32_t checksum = 0;
};
static_assert(sizeof(Header) == 16);

struct Slot {
  std::uint64_t sequence = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint32_t checksum = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(Slot) == 32);

template <class T>
Bytes bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

std::uint32_t checksum_of(const Header& header, std::string_view text) {
  auto sum = crc32_of(bytes_of(header.length));
  sum = crc32_of(bytes_of(header.items), sum);
  return crc32_of(as_bytes(text), sum);
}

std::uint32_t checksum_of(const Slot& slot) {
  return crc32_of(bytes_of(slot).first(offsetof(Slot, checksum)), kMagic);
}

// True when all of it was read.
bool read_at(int fd, std::uint64_t offset, void* into, std::size_t size) {
  auto* at = static_cast<char*>(into);
  while (size > 0) {
    const auto got = ::pread(fd, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Result<> write_at(int fd, std::uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const auto put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail(Errc::kSystem, "{}", errno_text());
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

bool whole(const Header& header, std::uint64_t room) {
  return header.magic == kMagic && header.length <= kLongest && header.length <= room;
}

struct Lock {
  UniqueFd file{};
  bool ours = false;
  std::string owner{};  // its process, when it is another's
};

Result<Lock> lock(const std::string& folder) {
  TRY(make_private_folder(folder, Others::kNothing));
  const auto path = folder + "/lock";
  Lock lock{.file = UniqueFd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)}};
  if (!lock.file) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  lock.ours = ::flock(lock.file.get(), LOCK_EX | LOCK_NB) == 0;
  if (lock.ours) {
    const auto text = fmt::format("{}\n", ::getpid());
    // Only told to people: a disk that is full does not stop us.
    if (::ftruncate(lock.file.get(), 0) == 0) (void)write_at(lock.file.get(), 0, as_bytes(text));
  } else if (const auto owner = read_file(path, 64)) {
    lock.owner = trim(*owner);
  }
  return lock;
}

Failure in_use(const std::string& folder, const Lock& lock) {
  return fail(Errc::kDenied, "the spool {} is in use by another clrscope{}{}", folder,
              lock.owner.empty() ? "" : ", process ", lock.owner)
      .hint("give each its own --spool folder");
}

}  // namespace

std::string folder_name(std::string_view text) {
  constexpr std::size_t kLongestName = 100;
  std::string name;
  for (const char c : text.substr(0, kLongestName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return fmt::format("{}-{:08x}", name, crc32_of(as_bytes(text)));
}

Spool::Spool(std::string folder, std::uint64_t limit)
    : folder_(std::move(folder)),
      limit_(limit),
      segment_limit_(std::clamp<std::uint64_t>(limit / 16, 64 << 10, 8 << 20)) {}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, std::uint64_t limit) {
  auto locked = TRY(lock(folder));
  if (!locked.ours) return in_use(folder, locked);
  std::unique_ptr<Spool> spool{new Spool{folder, limit}};  // its constructor is private
  spool->lock_ = std::move(locked.file);
  TRY(spool->find_segments());
  TRY(spool->read_position());
  return spool;
}

Result<bool> Spool::is_free(const std::string& folder) {
  const auto locked = TRY(lock(folder));
  if (!locked.ours && locked.owner != std::to_string(::getpid())) return in_use(folder, locked);
  return locked.ours;
}

Result<> Spool::find_segments() {
  std::error_code error;
  std::filesystem::directory_iterator entry{folder_, error};
  for (; !error && entry != std::filesystem::directory_iterator{}; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (!name.starts_with(kSegment)) continue;
    std::uint64_t id = 0;
    const auto* end = name.data() + name.size();
    const auto [stop, bad] = std::from_chars(name.data() + kSegment.size(), end, id, 16);
    if (bad != std::errc{} || stop != end) continue;
    segments_[id] = entry->file_size(error);
    last_segment_ = std::max(last_segment_, id);
  }
  if (error) return fail(Errc::kSystem, "cannot read the spool {}: {}", folder_, error.message());
  return {};
}

Result<> Spool::read_position() {
  const auto path = folder_ + "/position";
  position_ = UniqueFd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!position_) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  for (const auto at : {0U, 1U}) {
    Slot slot;
    if (!read_at(position_.get(), at * sizeof slot, &slot, sizeof slot)) continue;
    if (slot.checksum != checksum_of(slot) || slot.sequence < sequence_) continue;
    sequence_ = slot.sequence;
    delivered_ = {slot.segment, slot.offset};
  }
  last_segment_ = std::max(last_segment_, delivered_.segment);
  commit(delivered_);  // segments of a past that was delivered go
  read_ = delivered_;
  return {};
}

void Spool::commit(Place place) {
  delivered_ = place;
  Slot slot{.sequence = ++sequence_, .segment = place.segment, .offset = place.offset};
  slot.checksum = checksum_of(slot);
  // When it fails more is sent again after a restart than need be; nothing is lost.
  (void)write_at(position_.get(), (sequence_ % 2) * sizeof slot, bytes_of(slot));
  while (!segments_.empty()) {
    const auto [id, size] = *segments_.begin();
    const bool written_on = writing_ && id == last_segment_ && size < segment_limit_;
    if (id > place.segment || (id == place.segment && (place.offset < size || written_on))) break;
    ::unlink(path_of(id).c_str());
    if (id == last_segment_) writing_.reset();
    if (id == reading_segment_) reading_.reset();  // an open file would keep its room
    segments_.erase(segments_.begin());
  }
}

std::string Spool::path_of(std::uint64_t segment) const {
  return fmt::format("{}/{}{:016x}", folder_, kSegment, segment);
}

Result<> Spool::begin_segment() {
  writing_.reset();
  const auto path = path_of(last_segment_ + 1);
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!file) return fail(Errc::kSystem, "cannot create {}: {}", path, errno_text());
  writing_ = std::move(file);
  segments_[++last_segment_] = 0;
  return {};
}

Result<> Spool::push(std::string message, std::uint32_t items) {
  if (message.size() > kLongest)
    return fail(Errc::kUnsupported, "a message of {} is too large for the spool",
                format_bytes(message.size()));
  const auto size = sizeof(Header) + message.size();
  if (bytes() + size > limit_)
    return fail(Errc::kSystem, "the spool {1} is full: {0} are waiting", format_bytes(bytes()),
                folder_);
  Header header{.length = static_cast<std::uint32_t>(message.size()), .items = items};
  header.checksum = checksum_of(header, message);
  message.insert(0, as_text(bytes_of(header)));
  auto done = append(as_bytes(message));
  if (!done && segments_.empty()) done = append(as_bytes(message));  // there may be room now
  if (!done)
    return fail(Errc::kSystem, "cannot write to the spool {}: {}", folder_, done.error().what);
  return {};
}

Result<> Spool::append(Bytes record) {
  if (!writing_ || segments_[last_segment_] >= segment_limit_) TRY(begin_segment());
  auto& end = segments_[last_segment_];
  auto done = write_at(writing_.get(), end, record);
  if (done) {
    end += record.size();
    return {};
  }
  // What was written of it goes. The next begins a file of its own: this one is deleted once it is
  // delivered, and gives its room back when the disk is full.
  if (::ftruncate(writing_.get(), static_cast<off_t>(end)) != 0)
    log(LogLevel::kDebug, "{}: {}", path_of(last_segment_), errno_text());
  writing_.reset();
  if (end == 0) {
    ::unlink(path_of(last_segment_).c_str());
    segments_.erase(last_segment_);
  }
  commit(delivered_);
  return done;
}

std::optional<Message> Spool::read_record(const Place& place, std::uint64_t segment_size) {
  if (reading_segment_ != place.segment || !reading_) {
    reading_.reset(::open(path_of(place.segment).c_str(), O_RDONLY | O_CLOEXEC));
    reading_segment_ = place.segment;
  }
  Header header;
  if (!reading_ || segment_size - place.offset < sizeof header) return {};
  if (!read_at(reading_.get(), place.offset, &header, sizeof header)) return {};
  if (!whole(header, segment_size - place.offset - sizeof header)) return {};
  Message message{.text = std::string(header.length, '\0'), .items = header.items};
  if (!read_at(reading_.get(), place.offset + sizeof header, message.text.data(), header.length) ||
      header.checksum != checksum_of(header, message.text))
    return {};
  return message;
}

// The segment's end when there is none.
std::uint64_t Spool::next_whole_record(const Place& place, std::uint64_t segment_size) {
  constexpr std::size_t kPiece = 64 << 10;
  std::string piece;
  for (auto at = place.offset + 1; at + sizeof(Header) <= segment_size;) {
    piece.resize(std::min<std::uint64_t>(kPiece, segment_size - at));
    if (!reading_ || !read_at(reading_.get(), at, piece.data(), piece.size())) break;
    const auto found = piece.find(as_text(bytes_of(kMagic)));
    if (found == std::string::npos) {
      at += std::max<std::uint64_t>(piece.size() - sizeof kMagic + 1, 1);
      continue;
    }
    at += found;
    if (read_record({place.segment, at}, segment_size)) return at;
    ++at;
  }
  return segment_size;
}

void Spool::skip_to(const Place& place) {
  ++damaged_;
  read_ = place;
  if (taken_.empty())
    commit(place);
  else
    taken_.back().end = place;
}

std::optional<Message> Spool::take() {
  for (;;) {
    const auto at = segments_.lower_bound(read_.segment);
    if (at == segments_.end()) return {};
    if (at->first > read_.segment) read_ = {at->first, 0};
    const auto [segment, size] = *at;
    if (read_.offset >= size) {
      if (segment == segments_.rbegin()->first) return {};
      read_ = {segment + 1, 0};
      continue;
    }
    if (auto message = read_record(read_, size)) {
      read_.offset += sizeof(Header) + message->text.size();
      taken_.push_back({read_, message->items});
      return message;
    }
    skip_to({segment, next_whole_record(read_, size)});
  }
}

void Spool::give_back() {
  taken_.clear();
  read_ = delivered_;
}

std::uint64_t Spool::forget(std::size_t count) {
  count = std::min(count, taken_.size());
  if (count == 0) return 0;
  std::uint64_t items = 0;
  auto end = delivered_;
  for (; count > 0; --count) {
    items += taken_.front().items;
    end = taken_.front().end;
    taken_.pop_front();
  }
  commit(end);
  return items;
}

std::uint64_t Spool::items(std::size_t count) const {
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < count; ++i) items += taken_[i].items;
  return items;
}

std::uint64_t Spool::bytes_after(std::size_t count) const {
  const auto& place = count == 0 ? delivered_ : taken_[count - 1].end;
  std::uint64_t bytes = 0;
  for (const auto& [id, size] : segments_) {
    if (id < place.segment) continue;
    bytes += id > place.segment ? size : size - std::min(size, place.offset);
  }
  return bytes;
}

}  // namespace clrscope
