// The trace itself as version 6, whatever version it was: every event, with the losses it had.
#include "nettrace/convert.h"

#include "export/byte_sink.h"
#include "export/format.h"

namespace clrscope::exports {
namespace {

Result<Rewritten> rewrite(const ReadTrace& read, ByteSink& out) {
  nettrace::Converter converter{[&](Bytes bytes) -> Result<> {
    out.write(as_text(bytes));
    if (!out.ok()) return out.finish();
    return {};
  }};
  TRY(read([&](Bytes chunk) { return converter.feed(chunk); }));
  TRY(converter.finish());
  TRY(out.finish());
  const auto& written = converter.writer()->summary();
  const auto damage = converter.reader().damage();
  return Rewritten{.events = written.events,
                   .lost = written.lost,
                   .read = converter.reader().summary(),
                   .damage = {damage.begin(), damage.end()}};
}

}  // namespace

extern const Format nettrace_format{
    .name = "nettrace",
    .extension = ".v6.nettrace",
    .summary = "the whole trace as nettrace version 6",
    .rewrite = rewrite,
};

}  // namespace clrscope::exports
