#include "http/audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/io.h"
#include "base/private_folder.h"
#include "base/text.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kLongestTarget = 2000;
constexpr std::uint64_t kAtOnce = 64 << 10;
constexpr std::chrono::seconds kPatience{2};

}  // namespace

std::string without_secrets(std::string_view target) {
  const auto mark = target.find('?');
  std::string out{target.substr(0, mark)};
  if (mark != std::string_view::npos) {
    char before = '?';
    for (const auto part : split(target.substr(mark + 1), '&')) {
      const auto name = part.substr(0, part.find('='));
      const bool secret =
          name == "once" || name == "key" || name.find('%') != std::string_view::npos;
      out += before;
      out += secret ? std::string{name} + "=…" : std::string{part};
      before = '&';
    }
  }
  if (out.size() > kLongestTarget) out.resize(kLongestTarget);
  return out;
}

const Shape& shape_of(const Use*) {
  using U = Use;
  static const auto shape = describe<U>(
      "Use", "A request to this controller",
      {member<&U::time>("time", "time of the request"),
       member<&U::caller>("caller", "name of the key or user; nobody: it was refused"),
       member<&U::address>("address", "address of the client"),
       member<&U::method>("method", "HTTP method"),
       member<&U::target>("target", "path and query, without secrets"),
       member_unless_empty<&U::process>("process", "name and pid of the target process"),
       member<&U::status>("status", "HTTP status code"),
       member<&U::bytes>("bytes", Unit::kBytes, "size of the answer"),
       member<&U::took>("durationMs", "time until the answer was sent")});
  return shape;
}

Audit::Audit(Setting setting)
    : setting_(std::move(setting)),
      folder_(open_private_folder(setting_.folder).value_or(UniqueFd{})),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Audit::~Audit() = default;

void Audit::note(Use use) {
  if (!folder_) return;
  ++noted_;
  if (!inbox_.try_push(std::move(use))) {
    ++done_;
    state_.with([](State& state) {
      ++state.lost;
      state.trouble = "too many uses at once";
    });
  }
}

void Audit::flush() {
  const auto noted = noted_.load();  // others go on noting
  const Deadline deadline{kPatience};
  while (done_ < noted && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

std::string Audit::name(std::size_t age) {
  return age == 0 ? "audit.ndjson" : fmt::format("audit.{}.ndjson", age);
}

Result<> Audit::open() {
  UniqueFd file{::openat(folder_.get(), name(0).c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                         kFileMode)};
  struct stat there {};
  if (!file || ::fstat(file.get(), &there) != 0)
    return fail(errc_of(errno), "cannot write {}/{}: {}", setting_.folder, name(0), errno_text());
  if (!S_ISREG(there.st_mode) || there.st_uid != ::geteuid())
    return fail(Errc::kDenied, "cannot write {}/{}: not a file of ours", setting_.folder, name(0));
  file_ = std::move(file);
  size_ = static_cast<std::uint64_t>(there.st_size);
  return {};
}

Result<> Audit::write(const std::string& line) {
  if (!file_) TRY(open());
  if (size_ + line.size() > setting_.file_bytes && size_ > 0) {
    file_.reset();
    for (std::size_t age = setting_.files - 1; age > 0; --age)
      ::renameat(folder_.get(), name(age - 1).c_str(), folder_.get(), name(age).c_str());
    TRY(open());
  }
  if (const auto done = write_all(file_.get(), as_bytes(line)); !done) {
    // Half a line must not stay.
    (void)!::ftruncate(file_.get(), static_cast<off_t>(size_));
    file_.reset();
    return fail(Errc::kSystem, "cannot write {}/{}: {}", setting_.folder, name(0),
                done.error().what);
  }
  size_ += line.size();
  return {};
}

void Audit::run(const std::stop_token& stop) {
  while (const auto first = inbox_.pop(stop)) {
    // What waits already goes with it: a line each would cost more than the requests do.
    auto lines = json_text(*first) + "\n";
    std::uint64_t count = 1;
    const auto most = std::min<std::uint64_t>(kAtOnce, setting_.file_bytes / 2);
    while (lines.size() < most) {
      const auto next = inbox_.pop_for(stop, std::chrono::nanoseconds{0});
      if (!next) break;
      lines += json_text(*next) + "\n";
      ++count;
    }
    const auto done = write(lines);
    state_.with([&](State& state) {
      (done ? state.written : state.lost) += count;
      state.trouble = done ? "" : done.error().what;
    });
    done_ += count;
  }
}

Audit::State Audit::state() const {
  return state_.with([](const State& state) { return state; });
}

std::vector<std::string> Audit::last(std::size_t most) const {
  std::vector<std::string> lines;  // newest first
  for (std::size_t age = 0; age < setting_.files && lines.size() < most; ++age) {
    const auto text = read_private_file(folder_.get(), name(age), setting_.file_bytes + (1 << 20));
    if (!text) break;
    const auto all = split(*text, '\n');
    for (auto line = all.rbegin(); line != all.rend() && lines.size() < most; ++line)
      if (!line->empty()) lines.emplace_back(*line);
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace clrscope::http
