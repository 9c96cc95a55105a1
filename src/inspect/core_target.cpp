// open_core(): a core file as a Target, compressed or not.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/decompress.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "inspect/core_image.h"
#include "inspect/module_files.h"
#include "inspect/target.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kChunk = 1 << 20;

struct CoreBytes {
  UniqueFd fd;
  std::uint64_t size = 0;
  WallTime written{};
  bool unpacked_whole = true;  // its compression ended as it should, its checksum agreed
};

class CoreTarget final : public Target, private MemorySource {
 public:
  CoreTarget(std::unique_ptr<CoreBytes> bytes, CoreImage image)
      : bytes_(std::move(bytes)), image_(std::move(image)), files_(image_, "", bytes_->written) {}

  TargetKind kind() const override { return TargetKind::kCore; }
  pid_t pid() const override { return image_.notes().pid; }
  MemorySource& memory() override { return *this; }
  Result<std::vector<OsThread>> threads() override { return image_.notes().threads; }
  Result<UniqueFd> open_file(const std::string& path) override { return files_.open(path); }

  Result<std::vector<Mapping>> mappings() override {
    auto mappings = image_.mappings();
    const auto& files = image_.notes().files;
    for (auto& mapping : mappings) {
      if (mapping.path.empty() || mapping.executable || mapping.writable) continue;
      const auto file = std::ranges::lower_bound(files, mapping.start, {}, &CoreFile::start);
      if (file == files.end() || file->start != mapping.start) continue;
      if (const auto segment = files_.segment_at(*file))
        mapping.executable = (segment->flags & PF_X) != 0;
    }
    return mappings;
  }

  std::vector<std::string> remarks() override {
    std::vector<std::string> remarks;
    if (image_.promised() > image_.size())
      remarks.push_back(fmt::format("the core is truncated: it has {} of {}",
                                    format_bytes(image_.size()), format_bytes(image_.promised())));
    if (!bytes_->unpacked_whole)
      remarks.emplace_back(
          "the compressed core is damaged or truncated: what is shown may be wrong");
    return remarks;
  }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    if (address + out.size() < address) return 0;
    std::size_t done = 0;
    while (done < out.size()) {
      auto rest = out.subspan(done);
      auto got = image_.read(address + done, rest);
      if (got == 0) {
        const auto gap = image_.gap_at(address + done);
        got = files_.read(address + done, rest.first(std::min<std::uint64_t>(rest.size(), gap)));
      }
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  std::unique_ptr<CoreBytes> bytes_;  // that image_ reads
  CoreImage image_;
  ModuleFiles files_;
};

std::string temp_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

// Leaves holes where there are only zeros.
Result<> write_sparse(int fd, std::uint64_t offset, Bytes bytes) {
  constexpr std::size_t kBlock = 4096;
  while (!bytes.empty()) {
    const auto block = bytes.first(std::min(bytes.size(), kBlock - offset % kBlock));
    if (std::ranges::any_of(block, [](std::uint8_t byte) { return byte != 0; }))
      for (std::size_t done = 0; done < block.size();) {
        const auto put = ::pwrite(fd, block.data() + done, block.size() - done,
                                  static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
          return fail(errc_of(errno), "cannot unpack the core: {}", errno_text())
              .hint("{} needs room for the whole core; set TMPDIR to use another folder",
                    temp_folder());
        done += static_cast<std::size_t>(put);
      }
    offset += block.size();
    bytes = bytes.subspan(block.size());
  }
  return {};
}

// The whole core in a file without a name, for a compressed one cannot be read here and there.
Result<> unpack(CoreBytes& core) {
  const auto plain = TRY(open_temp_file(temp_folder()));
  std::vector<std::uint8_t> chunk(kChunk);
  Decompressor decompressor;
  std::uint64_t size = 0;
  const auto on_bytes = [&](Bytes bytes) -> Result<> {
    TRY(write_sparse(plain.get(), size, bytes));
    size += bytes.size();
    return {};
  };
  bool damaged = false;
  for (off_t at = 0; !damaged;) {
    const auto got = ::pread(core.fd.get(), chunk.data(), chunk.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errc_of(errno), "cannot read the core: {}", errno_text());
    if (got == 0) break;
    at += got;
    const auto fed = decompressor.feed({chunk.data(), static_cast<std::size_t>(got)}, on_bytes);
    if (!fed && fed.error().code != Errc::kCorrupt) return fail(fed.error());
    damaged = !fed;  // what came before the damage is all there is
  }
  core.unpacked_whole = !damaged && TRY(decompressor.finish(on_bytes));
  if (::ftruncate(plain.get(), static_cast<off_t>(size)) != 0)
    return fail(errc_of(errno), "cannot unpack the core: {}", errno_text());
  core.fd.reset(::dup(plain.get()));
  core.size = size;
  return {};
}

Result<std::unique_ptr<CoreBytes>> open_bytes(const std::string& path) {
  auto core = std::make_unique<CoreBytes>();
  core->fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!core->fd) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  struct stat status {};
  if (::fstat(core->fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Errc::kUsage, "{} is not a file", path);
  core->size = static_cast<std::uint64_t>(status.st_size);
  core->written = WallTime{std::chrono::seconds{status.st_mtim.tv_sec} +
                           std::chrono::nanoseconds{status.st_mtim.tv_nsec}};
  std::uint8_t magic[4] = {};
  if (::pread(core->fd.get(), magic, sizeof magic, 0) == sizeof magic) {
    const bool gzip = magic[0] == 0x1f && magic[1] == 0x8b;
    const bool zstd = magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd;
    if (gzip || zstd) TRY(unpack(*core));
  }
  return core;
}

}  // namespace

Result<std::unique_ptr<Target>> open_core(const std::string& path) {
  auto bytes = TRY(open_bytes(path));
  const auto read_at = [fd = bytes->fd.get()](std::uint64_t offset, std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && offset + done < std::uint64_t{1} << 62) {
      const auto got =
          ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  };
  auto image = CoreImage::parse(read_at, bytes->size);
  if (!image)
    return fail(image.error().code, "cannot read {} as a core: {}", path, image.error().what)
        .hint(
            "use a core written by createdump, gcore or the kernel, plain or compressed with gzip "
            "or zstd; clrscope dump writes one");
  return std::make_unique<CoreTarget>(std::move(bytes), *std::move(image));
}

}  // namespace clrscope::inspect
