// Exceptions that were thrown: how often, which, where.
#include "http/view_page.h"

namespace clrscope::http {
namespace {

Result<PageContent> about(Call& call, const Process& process) {
  using As = Column::As;
  return view_page(call, process, ops::Topic::kExceptions, "Exceptions",
                   {{.member = "byType",
                     .caption = "By type",
                     .columns = {{"type", "Type", As::kCode},
                                 {"count", "Thrown", As::kCount},
                                 {"ratePerSecond", "Per second", As::kNumber},
                                 {"message", "Last message"}}},
                    {.member = "recent",
                     .caption = "The latest",
                     .columns = {{"time", "Time", As::kTime},
                                 {"type", "Type", As::kCode},
                                 {"message", "Message"},
                                 {"threadId", "Thread", As::kNumber}}}});
}

}  // namespace

extern const Page exceptions_page{
    .path = "/views/exceptions", .title = "Exceptions", .about = about, .key = 'e'};

}  // namespace clrscope::http
