// Pages of live data: the first look at a process waits for its first data, and a page does not.
//
// Until a topic is followed its page says so at once; a script then asks for the data itself, and a
// browser without scripts is sent to the same page with ?wait=true, which waits.
#pragma once

#include "http/page.h"
#include "ops/live/live.h"

namespace clrscope::http {

// True: asking does not take long. Also when the caller wants to wait.
bool is_followed(const Call& call, pid_t pid, ops::Topic topic);

// What a page says meanwhile; `path` is the page's.
void say_waiting(const Call& call, PageContent& content, std::string_view path, pid_t pid);

}  // namespace clrscope::http
