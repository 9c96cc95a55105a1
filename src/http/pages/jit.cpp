// Methods that were compiled, their time and tiers.
#include "http/view_page.h"

namespace clrscope::http {
namespace {

Result<PageContent> about(Call& call, const Process& process) {
  using As = Column::As;
  return view_page(call, process, ops::Topic::kJit, "JIT",
                   {{.member = "byTier",
                     .caption = "By tier",
                     .columns = {{"tier", "Tier"},
                                 {"count", "Methods", As::kCount},
                                 {"jitMs", "Time", As::kMs},
                                 {"nativeBytes", "Code", As::kBytes}}},
                    {.member = "methods",
                     .caption = "Methods, the newest first",
                     .columns = {{"method", "Method", As::kCode},
                                 {"tier", "Tier"},
                                 {"jitMs", "Time", As::kMs},
                                 {"nativeBytes", "Code", As::kBytes}},
                     .newest_first = true}});
}

}  // namespace

extern const Page jit_page{.path = "/views/jit", .title = "JIT", .about = about, .key = 'j'};

}  // namespace clrscope::http
