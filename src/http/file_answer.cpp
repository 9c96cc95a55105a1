#include "http/file_answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "archive/file_name.h"
#include "base/io.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kTarBlock = 512;

// The bytes of a file to a client that reads; false: it went away, or the file broke off.
Result<bool> copy_file(net::HttpStream& stream, const std::string& path) {
  const auto file = TRY(open_for_reading(path));
  std::string piece(kPiece, '\0');
  for (;;) {
    const auto got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0) return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
    if (got == 0) return true;
    if (!stream.write(piece.substr(0, static_cast<std::size_t>(got)))) return false;
  }
}

// The header of a file in a tar (ustar). Its name is ours: short and plain.
std::string tar_header(const std::string& name, std::uint64_t size) {
  std::string block(kTarBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    block.replace(at, text.size(), text);
  };
  put(0, std::string_view{name}.substr(0, 99));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, fmt::format("{:011o}", static_cast<std::uint64_t>(std::time(nullptr))));
  put(148, "        ");
  put(156, "0");
  put(257, std::string_view{"ustar\0"
                            "00",
                            8});
  unsigned sum = 0;
  for (const auto c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string{"\0 ", 2});
  return block;
}

}  // namespace

HttpResponse file_head(std::string_view type, std::string_view name) {
  return {.type = std::string{type},
          .fields = {{"Content-Disposition",
                      "attachment; filename=\"" + archive::safe_file_name(name) + "\""}}};
}

Result<bool> send_file(Call& call, HttpResponse head, const std::string& path) {
  (void)TRY(open_for_reading(path));  // fails before the head is sent
  const auto stream = call.stream(std::move(head));
  // A stream that is not ended is broken off: the client sees that it lacks something.
  const auto whole = copy_file(*stream, path);
  if (whole && *whole) stream->end();
  return whole && *whole;
}

Result<bool> send_folder(Call& call, HttpResponse head, const std::string& folder) {
  std::error_code problem;
  std::vector<std::filesystem::directory_entry> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder, problem})
    if (entry.is_regular_file(problem)) files.push_back(entry);
  if (problem) return fail(Errc::kSystem, "cannot read {}: {}", folder, problem.message());
  const auto stream = call.stream(std::move(head));
  for (const auto& file : files) {
    const auto size = file.file_size(problem);
    if (!stream->write(tar_header(file.path().filename().string(), size))) return false;
    const auto whole = copy_file(*stream, file.path().string());
    if (!whole || !*whole) return false;
    if (!stream->write(std::string((kTarBlock - size % kTarBlock) % kTarBlock, '\0'))) return false;
  }
  if (!stream->write(std::string(2 * kTarBlock, '\0'))) return false;
  stream->end();
  return true;
}

}  // namespace clrscope::http
