// Pages for people: rendered here, whole and readable without a script; web/ makes them richer.
//
// A page is the text/html of the data route with the same path, or stands alone. Each is a file in
// pages/, listed in pages.inc, whose order is the rail's. What a script may take over is an element
// with data-view=VIEW and data-source=PATH: it finds the view of that name (web/src/views) and asks
// that path for JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/route.h"
#include "model/process.h"

namespace clrscope::http {

struct PageContent {
  std::string title{};
  std::string main{};  // HTML; everything that came from outside is escaped
  std::string view{};  // takes over all of <main>; empty: none does
  std::string head{};  // HTML for <head>
};

struct Page {
  std::string_view path;   // "/stacks"
  std::string_view title;  // in the rail
  Result<PageContent> (*render)(Call& call) = nullptr;
  Scope scope = Scope::kRead;
  bool in_rail = true;
  // Instead of render: the page is about one process. Which one, and that it can be reached, is
  // settled before; while it is not, the page says what to do.
  Result<PageContent> (*about)(Call& call, const Process& process) = nullptr;
  char key = 0;  // "g" and this letter go there; 0: none
};

std::span<const Page* const> pages();
const Page* find_page(std::string_view path);

// The answer for a page: its content, or the error as a page that says what to do.
HttpResponse page_answer(Call& call, const Page& page);

}  // namespace clrscope::http
