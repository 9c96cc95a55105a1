// The thread pool: workers, and why their number changed.
#include "http/view_page.h"

namespace clrscope::http {
namespace {

Result<PageContent> about(Call& call, const Process& process) {
  using As = Column::As;
  return view_page(call, process, ops::Topic::kThreadPool, "Thread pool",
                   {{.member = "adjustments",
                     .caption = "Changes, the newest first",
                     .columns = {{"timeMs", "After", As::kMs},
                                 {"threads", "Threads", As::kNumber},
                                 {"reason", "Reason"},
                                 {"throughputPerSecond", "Work items/s", As::kNumber}},
                     .newest_first = true}});
}

}  // namespace

extern const Page threadpool_page{
    .path = "/views/threadpool", .title = "Thread pool", .about = about, .key = 't'};

}  // namespace clrscope::http
