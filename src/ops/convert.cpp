#include "ops/convert.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "analyze/profile_builder.h"
#include "base/text.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "ops/output_file.h"
#include "ops/trace_file.h"
#include "symbols/source_lines.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;
using exports::ByteSink;
using exports::Format;

// What a trace's name may end in.
constexpr std::string_view kTraceEnds[] = {".zst", ".gz", ".nettrace", ".netperf"};

bool same_file(const std::string& a, const std::string& b) {
  struct ::stat one {
  }, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino && S_ISREG(one.st_mode);
}

Result<std::string> output_of(const ConvertRequest& request) {
  if (request.output == "-" && request.format->rewrite_folder)
    return fail(Errc::kUsage, "{} consists of several files and cannot be written to stdout",
                request.format->name)
        .hint("give a new folder with -o");
  if (request.output == "-") return request.output;
  if (request.input == "-" && request.output.empty())
    return fail(Errc::kUsage, "an output file is required when the trace is read from stdin")
        .hint("use -o FILE, or -o - for stdout");
  std::string output = request.output;
  if (output.empty())
    output = converted_name(request.input, *request.format);
  else if (fs::is_directory(output) && !request.format->rewrite_folder)
    output =
        fs::path{output} /
        fs::path{converted_name(request.input == "-" ? "trace" : request.input, *request.format)}
            .filename();
  if (same_file(request.input, output))
    return fail(Errc::kUsage, "{} would overwrite its own input", output)
        .hint("choose another file with -o");
  return output;
}

Error named(Error error, const std::string& input) {
  if (error.what.find(input) == std::string::npos)
    error.what = fmt::format("{}: {}", display_name(input), error.what);
  return error;
}

Error cannot_write(Error error, const std::string& output) {
  if (error.code == Errc::kNoRoom) return error;
  error.code = Errc::kSystem;
  error.what = fmt::format("{}: {}", output == "-" ? "standard output" : output, error.what);
  if (error.hint.empty()) error.hint = "free some space or choose another place with -o";
  return error;
}

// From samples: reads the whole trace first.
Result<ConvertSummary> write_profile(const ConvertRequest& request, const ConvertWatcher& watcher,
                                     const std::string& output) {
  SourceLines lines{{.symbol_folder = request.lines.symbol_folder}};
  analyze::ProfileBuilder builder{request.lines.wanted ? &lines : nullptr};
  const TraceVisitor visitor{
      .on_batch = [&](const auto& reader, const auto& batch) { builder.on_batch(reader, batch); },
      .on_end = [&](const auto& reader) { builder.end_of_trace(reader); },
      .on_chunk = [&] { return check_samples(request.input, builder.samples(), request.limits); },
  };
  const auto read = TRY(read_trace(request.input, visitor, watcher.on_progress, request.limits));
  const auto profile = std::move(builder).finish();
  if (profile.samples.empty()) {
    const auto damage = damage_line(read);
    return fail(Errc::kNotFound, "{} contains no stack samples ({} events){}",
                display_name(request.input), format_count(read.summary.events),
                damage.empty() ? "" : ", as far as it can be read: " + damage)
        .hint("record samples with clrscope collect -p PID --profile cpu-sampling");
  }
  auto file = TRY(OutputFile::create(output));
  ByteSink out{file.fd(), request.on_output};
  if (auto done = request.format->write(profile, out); !done)
    return fail(cannot_write(done.error(), output));
  TRY(file.commit());
  return ConvertSummary{.file = output,
                        .format = request.format,
                        .bytes = out.bytes(),
                        .samples = profile.samples.size(),
                        .events = read.summary.events,
                        .lost = read.summary.lost,
                        .damage = damage_line(read),
                        .missing_lines = missing_lines(lines)};
}

// From events: writes while it reads.
Result<ConvertSummary> rewrite_trace(const ConvertRequest& request, const ConvertWatcher& watcher,
                                     const std::string& output) {
  auto file = TRY(OutputFile::create(output));
  ByteSink out{file.fd(), request.on_output};
  const exports::ReadTrace read = [&](const exports::OnChunk& on_chunk) {
    return read_trace_bytes(request.input, on_chunk, watcher.on_progress, request.limits);
  };
  const auto done = request.format->rewrite(read, out);
  if (!out.ok()) return fail(cannot_write(out.finish().error(), output));
  if (!done) return fail(named(done.error(), request.input));
  TRY(file.commit());
  return ConvertSummary{.file = output,
                        .format = request.format,
                        .bytes = out.bytes(),
                        .events = done->events,
                        .lost = done->lost,
                        .damage = damage_line({request.input, done->read, done->damage})};
}

// A folder that appears under its name only when it is whole.
class OutputFolder {
 public:
  static Result<OutputFolder> create(const std::string& path) {
    std::error_code error;
    if (fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path, error)))
      return fail(Errc::kUsage, "{} already exists", path).hint("choose another place with -o");
    auto part = path + ".XXXXXX";
    if (::mkdtemp(part.data()) == nullptr)
      return fail(Errc::kSystem, "cannot create a folder beside {}: {}", path, errno_text());
    return OutputFolder{path, part};
  }
  OutputFolder(OutputFolder&& other) noexcept
      : path_(std::move(other.path_)), part_(std::exchange(other.part_, {})) {}
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder() {
    std::error_code gone;
    if (!part_.empty()) fs::remove_all(part_, gone);
  }

  const std::string& part() const { return part_; }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& file : fs::directory_iterator{part_, error}) bytes += file.file_size(error);
    return bytes;
  }
  Result<> commit() {
    if (::rename(part_.c_str(), path_.c_str()) != 0)
      return fail(Errc::kSystem, "cannot rename the output to {}: {}", path_, errno_text());
    part_.clear();
    return {};
  }

 private:
  OutputFolder(std::string path, std::string part)
      : path_(std::move(path)), part_(std::move(part)) {}
  std::string path_;
  std::string part_;  // its name until it is whole
};

Result<ConvertSummary> rewrite_folder(const ConvertRequest& request, const ConvertWatcher& watcher,
                                      const std::string& output) {
  auto folder = TRY(OutputFolder::create(output));
  std::uint64_t counted = 0;
  const auto count = [&]() -> Result<> {
    const auto now = folder.bytes();
    const auto more = now > counted ? now - counted : 0;
    counted += more;
    return more > 0 && request.on_output ? request.on_output(more) : Result<>{};
  };
  const exports::ReadTrace read = [&](const exports::OnChunk& on_chunk) {
    const auto counting = [&](Bytes bytes) -> Result<> {
      TRY(on_chunk(bytes));
      return count();
    };
    return read_trace_bytes(request.input, counting, watcher.on_progress, request.limits);
  };
  const auto done = request.format->rewrite_folder(read, folder.part());
  if (!done) return fail(named(done.error(), request.input));
  const auto bytes = folder.bytes();
  TRY(folder.commit());
  return ConvertSummary{.file = output,
                        .format = request.format,
                        .bytes = bytes,
                        .events = done->events,
                        .lost = done->lost,
                        .damage = damage_line({request.input, done->read, done->damage})};
}

}  // namespace

Result<const Format*> parse_format(std::string_view name) {
  if (const auto* format = exports::find_format(name)) return format;
  std::vector<std::string_view> names;
  for (const auto* format : exports::formats()) names.push_back(format->name);
  auto failure = fail(Errc::kUsage, "unknown format '{}'", name);
  if (const auto meant = nearest(name, names))
    return std::move(failure).hint("did you mean {}?", *meant);
  return std::move(failure).hint("use one of {}", fmt::join(names, ", "));
}

std::string trace_stem(std::string name) {
  for (const auto end : kTraceEnds)
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

std::string converted_name(const std::string& input, const Format& format) {
  return trace_stem(input) + std::string{format.extension};
}

Result<ConvertSummary> convert(const ConvertRequest& request, const ConvertWatcher& watcher) {
  const auto output = TRY(output_of(request));
  if (request.format->write) return write_profile(request, watcher, output);
  return request.format->rewrite ? rewrite_trace(request, watcher, output)
                                 : rewrite_folder(request, watcher, output);
}

}  // namespace clrscope::ops
