#include "http/single_file.h"

#include "site/template.h"

namespace clrscope::http {

std::string single_file(const SingleFile& content) {
  const Mark marks[] = {{"kind", content.kind},
                        {"title", content.title},
                        {"text", content.text},
                        {"data", content.json, Mark::As::kScript}};
  return page_from("single.html", marks);
}

std::string flame_file(const ops::FlameRead& read) {
  return single_file({.kind = "flame",
                      .title = read.title + " · flame graph",
                      .text = ops::flame_text(read),
                      .json = ops::flame_json(read)});
}

}  // namespace clrscope::http
