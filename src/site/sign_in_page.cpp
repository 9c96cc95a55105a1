#include "site/sign_in_page.h"

#include <algorithm>

#include "site/template.h"

namespace clrscope::site {

std::string own_place(std::string_view next) {
  const bool plain = std::ranges::all_of(
      next, [](char letter) { return letter > ' ' && letter < 0x7f && letter != '\\'; });
  if (!plain || !next.starts_with('/') || next.starts_with("//") || next.size() > 2000) return "/";
  return std::string{next};
}

std::string signed_in_page(std::string_view place) {
  const Mark marks[] = {{"place", place}};
  return page_from("signed-in.html", marks);
}

std::string sign_in_page(const Visits::Setting& server, std::string_view base_path,
                         std::string_view next, std::string_view reason) {
  std::string title{server.key_word};
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  const Mark marks[] = {{"base", base_path},
                        {"next", next},
                        {"title", title},
                        {"word", server.key_word},
                        {"command", server.key_command},
                        {"serve", server.serve_command},
                        {"reason", reason},
                        {"hidden", reason.empty() ? "hidden" : ""}};
  return page_from("sign-in.html", marks);
}

}  // namespace clrscope::site
