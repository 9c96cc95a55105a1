#include "ops/code_lines.h"

#include "base/proc_identity.h"
#include "inspect/runtime_reader.h"
#include "inspect/source_lines.h"
#include "inspect/target.h"

namespace clrscope::ops {
namespace {

struct Opened {
  std::unique_ptr<inspect::Target> target;
  std::unique_ptr<inspect::RuntimeReader> reader;
  std::optional<inspect::SourceLines> lines;  // destroyed before both
};

}  // namespace

Result<LineAt> open_code_lines(pid_t pid, std::uint64_t start_ticks) {
  const auto opened = std::make_shared<Opened>();
  opened->target = TRY(inspect::open_process(pid));
  // Once it is open it stays the process that it was.
  const auto now = proc_identity(pid);
  if (!now || now->ended() || (start_ticks != 0 && now->start_ticks != start_ticks))
    return fail(Errc::kGone, "process {} has ended", pid);
  opened->reader = TRY(inspect::open_runtime(*opened->target));
  opened->lines.emplace(*opened->target, *opened->reader, "");
  return LineAt{[opened](std::uint64_t address) -> std::optional<SourceLine> {
    const auto method = opened->reader->method_at(address);
    return method ? opened->lines->find(*method, address) : std::nullopt;
  }};
}

}  // namespace clrscope::ops
