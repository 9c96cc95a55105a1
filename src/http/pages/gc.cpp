// Garbage collections: pauses by cause, generations, heap sizes.
#include "http/view_page.h"

namespace clrscope::http {
namespace {

Result<PageContent> about(Call& call, const Process& process) {
  using As = Column::As;
  return view_page(call, process, ops::Topic::kGc, "GC",
                   {{.member = "collections",
                     .caption = "Collections, the newest first",
                     .columns = {{"number", "Number", As::kNumber},
                                 {"generation", "Generation", As::kNumber},
                                 {"reason", "Reason"},
                                 {"type", "Type"},
                                 {"pauseMs", "Pause", As::kMs},
                                 {"durationMs", "Took", As::kMs},
                                 {"heapAfter.totalBytes", "Heap after", As::kBytes},
                                 {"heapAfter.gen2Bytes", "Gen 2", As::kBytes},
                                 {"heapAfter.lohBytes", "Large objects", As::kBytes}},
                     .newest_first = true}});
}

}  // namespace

extern const Page gc_page{.path = "/views/gc", .title = "GC", .about = about, .key = 'g'};

}  // namespace clrscope::http
