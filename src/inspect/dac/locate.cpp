#include "inspect/dac/locate.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::inspect::dac {
namespace {

constexpr std::string_view kMark = "@(#)Version ";
constexpr std::size_t kMostIdentity = 200;
constexpr std::uint64_t kBlock = 256 << 10;
constexpr std::uint64_t kMostImage = 64 << 20;
constexpr std::string_view kRuntimeName = "/libcoreclr.so";
constexpr std::string_view kLibraryName = "/libmscordaccore.so";
constexpr std::array kSystemFolders{"/usr/share/dotnet", "/usr/lib/dotnet", "/usr/lib64/dotnet"};

// Searches in overlapping blocks, from the end on: it lies with the data, behind the code.
// `read(at, out)` gives how many bytes could be read.
template <class Read>
std::string find_identity(std::uint64_t size, Read read) {
  size = std::min(size, kMostImage);
  std::vector<std::uint8_t> block(kBlock + kMostIdentity);
  for (auto at = size - std::min<std::uint64_t>(size, kBlock);; at -= std::min(at, kBlock)) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), size - at));
    const std::size_t got = read(at, std::span{block}.first(want));
    if (auto found = identity_in(Bytes{block}.first(got)); !found.empty()) return found;
    if (at == 0) return {};
  }
}

std::string identity_of_file(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0) return {};
  return find_identity(static_cast<std::uint64_t>(about.st_size), [&](std::uint64_t at,
                                                                      std::span<std::uint8_t> out) {
    const auto got = ::pread(file, out.data(), out.size(), static_cast<off_t>(at));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  });
}

// Root's, and nobody else may write to it.
bool is_system_file(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == 0 &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::string identity_in(Bytes bytes) {
  const auto text = as_text(bytes);
  for (auto at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    const auto rest = text.substr(at + kMark.size(), kMostIdentity);
    const auto end = rest.find('\0');
    // The commit is what tells builds apart; a mark without it is somebody's search text.
    if (end == std::string_view::npos || rest.substr(0, end).find("@Commit:") == rest.npos)
      continue;
    if (std::all_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(end),
                    [](char c) { return c >= ' ' && c < 0x7f; }))
      return std::string{rest.substr(0, end)};
  }
  return {};
}

std::string version_of_identity(std::string_view identity) {
  const auto numbers = split(identity.substr(0, identity.find(' ')), '.');
  if (numbers.size() < 3) return {};
  const auto major = parse_number(numbers[0]), minor = parse_number(numbers[1]);
  const auto patch = parse_number(numbers[2]);  // patch * 100 + year
  if (!major || !minor || !patch) return {};
  return fmt::format("{}.{}.{}", *major, *minor, *patch / 100);
}

bool uses_musl(std::span<const Mapping> mappings) {
  return std::ranges::any_of(mappings, [](const Mapping& mapping) {
    const auto name = std::string_view{mapping.path}.substr(mapping.path.rfind('/') + 1);
    return name.starts_with("ld-musl-") || name.starts_with("libc.musl-");
  });
}

Result<RuntimeImage> find_runtime(Target& target) {
  const auto mappings = TRY(target.mappings());
  RuntimeImage runtime;
  std::vector<const Mapping*> images;
  for (const auto& mapping : mappings) {
    if (!mapping.path.ends_with(kRuntimeName)) continue;
    if (images.empty() && mapping.file_offset != 0) continue;
    if (!images.empty() && mapping.path != images.front()->path) continue;
    images.push_back(&mapping);
  }
  if (!images.empty()) runtime.path = images.front()->path, runtime.base = images.front()->start;
  for (const bool code : {false, true})
    for (auto image = images.rbegin(); image != images.rend(); ++image)
      if ((*image)->executable == code && runtime.identity.empty())
        runtime.identity = find_identity((*image)->end - (*image)->start,
                                         [&](std::uint64_t at, std::span<std::uint8_t> out) {
                                           return target.memory().read((*image)->start + at, out);
                                         });
  if (runtime.base == 0)
    return fail(Errc::kUnsupported, "process {} has no libcoreclr.so mapped", target.pid());
  if (runtime.identity.empty())  // not in this core: then in the file of the same build
    if (const auto file = target.open_file(runtime.path); file)
      runtime.identity = identity_of_file(file->get());
  if (runtime.identity.empty())
    return fail(Errc::kUnsupported, "{} has no version information", runtime.path);
  runtime.version = version_of_identity(runtime.identity);
  return runtime;
}

Result<LibraryFile> find_library(Target& target, const RuntimeImage& runtime) {
  const auto folder = runtime.path.substr(0, runtime.path.size() - kRuntimeName.size());
  const auto beside = folder + std::string{kLibraryName};
  std::string others;  // of other builds
  const auto fits = [&](const std::string& path, int file) {
    const auto identity = identity_of_file(file);
    if (identity == runtime.identity) return true;
    others += fmt::format("{}{} is of {}", others.empty() ? "" : "; ", path,
                          identity.empty() ? "an unknown build" : identity);
    return false;
  };
  // What the machine's root installed is better than what a container brings along.
  if (target.kind() == TargetKind::kCore || in_other_namespace(target.pid(), "mnt"))
    for (const auto* const root : kSystemFolders) {
      auto path =
          fmt::format("{}/shared/Microsoft.NETCore.App/{}{}", root, runtime.version, kLibraryName);
      auto file = open_for_reading(path);
      if (file && is_system_file(file->get()) && fits(path, file->get()))
        return LibraryFile{std::move(path), std::move(*file)};
    }
  auto file = target.open_file(beside);
  if (!file && target.kind() == TargetKind::kCore) file = open_for_reading(beside);
  if (file && fits(beside, file->get())) return LibraryFile{beside, std::move(*file)};
  if (!others.empty())
    return fail(Errc::kUnsupported, "no data access library for .NET {}: {}", runtime.version,
                others)
        .hint("the library and the runtime must be of one build ({})", runtime.identity);
  return fail(Errc::kNotFound, "no data access library for .NET {}: {}", runtime.version,
              file.error().what)
      .hint("put the libmscordaccore.so of the same build beside libcoreclr.so");
}

}  // namespace clrscope::inspect::dac
