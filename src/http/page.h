// Pages for people: rendered here, whole and readable without a script; web/ makes them richer.
//
// A page is the text/html of the data route with the same path, or stands alone. Each is a file in
// pages/, listed in pages.inc. What it renders goes into <main data-view=VIEW>; a script finds the
// view of that name, fetches the same path as JSON and takes over.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/route.h"

namespace clrscope::http {

struct PageContent {
  std::string title{};
  std::string main{};  // HTML; everything that came from outside is escaped
  std::string view{};  // of web/src/views; empty: no script
};

struct Page {
  std::string_view path;   // "/stacks"
  std::string_view title;  // in the rail
  Result<PageContent> (*render)(Call& call);
  Scope scope = Scope::kRead;
  bool in_rail = true;
};

std::span<const Page* const> pages();
const Page* find_page(std::string_view path);

// The whole document: rail, process picker, content, status strip.
std::string page_html(const Call& call, const PageContent& content);

// The answer for a page: its content, or the error as a page that says what to do.
HttpResponse page_answer(Call& call, const Page& page);

}  // namespace clrscope::http
