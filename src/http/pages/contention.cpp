// Locks that threads waited for: where, how long, who held them.
#include "http/view_page.h"

namespace clrscope::http {
namespace {

Result<PageContent> about(Call& call, const Process& process) {
  using As = Column::As;
  return view_page(call, process, ops::Topic::kContention, "Contention",
                   {{.member = "sites",
                     .caption = "Where threads waited for locks",
                     .columns = {{"method", "Method", As::kCode},
                                 {"count", "Waits", As::kCount},
                                 {"totalMs", "Total", As::kMs},
                                 {"longestMs", "Longest", As::kMs},
                                 {"unfinished", "Still waiting", As::kCount}}}});
}

}  // namespace

extern const Page contention_page{
    .path = "/views/contention", .title = "Contention", .about = about, .key = 'l'};

}  // namespace clrscope::http
