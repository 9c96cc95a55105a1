// The curated views as pages: one sentence, one timeline, one table. All are made of what
// /views/TOPIC tells; the timeline needs a script.
#pragma once

#include <string_view>
#include <vector>

#include "http/live_page.h"
#include "http/markup.h"
#include "http/page.h"

namespace clrscope::http {

struct ViewTable {
  std::string_view member;  // of the answer: an array of rows
  std::string_view caption;
  std::vector<Column> columns;
  bool newest_first = false;
};

Result<PageContent> view_page(Call& call, const Process& process, ops::Topic topic,
                              std::string_view title, const std::vector<ViewTable>& tables);

}  // namespace clrscope::http
