#include "http/sign_in_page.h"

#include <algorithm>

#include "base/html.h"

namespace clrscope::http {

std::string own_place(std::string_view next) {
  const bool plain = std::ranges::all_of(
      next, [](char letter) { return letter > ' ' && letter < 0x7f && letter != '\\'; });
  if (!plain || !next.starts_with('/') || next.starts_with("//") || next.size() > 2000) return "/";
  return std::string{next};
}

std::string go_on_page(std::string_view place) {
  const auto escaped = html_escaped(place);
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"refresh\" content=\"0; url=" +
         escaped +
         "\">\n<title>Signed in · clrscope</title>\n</head>\n<body>\n<main>\n"
         "<h1>Signed in</h1>\n<p><a href=\"" +
         escaped + "\">Go on</a></p>\n</main>\n</body>\n</html>\n";
}

std::string sign_in_page(std::string_view base_path, std::string_view next,
                         std::string_view reason) {
  const std::string base{base_path};
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Sign in · clrscope</title>\n<link rel=\"stylesheet\" href=\"" +
      html_escaped(base + "/assets/style.css") + "\">\n</head>\n<body>\n<main>\n<h1>Sign in</h1>\n";
  if (!reason.empty())
    out += "<p class=\"error\" role=\"alert\">" + html_escaped(reason) + "</p>\n";
  out += "<form method=\"post\" action=\"" + html_escaped(base + "/sign-in/key") +
         "\">\n<input type=\"hidden\" name=\"next\" value=\"" + html_escaped(next) +
         "\">\n<p><label for=\"key\">Key</label> <input id=\"key\" name=\"key\" type=\"password\" "
         "autocomplete=\"current-password\" required autofocus> "
         "<button type=\"submit\">Sign in</button></p>\n</form>\n"
         "<p>No key? Whoever runs the server makes one:</p>\n"
         "<pre>clrscope key create --name you --scopes metrics,read,trace</pre>\n"
         "<p>or opens the address that <code>clrscope serve</code> printed at its start; it works "
         "once, for 15 minutes.</p>\n</main>\n</body>\n</html>\n";
  return out;
}

}  // namespace clrscope::http
