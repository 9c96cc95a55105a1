#include "http/flame_file.h"

#include "base/html.h"
#include "http/assets.h"

namespace clrscope::http {

// One way through the page that web/build.mjs made: what is put in is not looked at again.
Result<std::string> flame_file(const ops::FlameRead& read) {
  const auto* asset = find_asset("flame-file.html");
  CHECK(asset != nullptr);
  const auto page = TRY(plain_content(*asset));
  const auto data = ops::flame_json(read);
  std::string out;
  out.reserve(page.size() + data.size() + (4 << 10));
  const auto title = html_escaped(read.title + " · flame graph");
  std::size_t done = 0;
  const auto up_to = [&](std::string_view mark, std::string_view content) {
    const auto at = page.find(mark, done);
    CHECK(at != std::string::npos);
    out.append(page, done, at - done).append(content);
    done = at + mark.size();
  };
  up_to("@title@", title);
  up_to("@title@", title);
  up_to("@text@", html_escaped(ops::flame_text(read)));
  up_to("@data@", data);
  return out.append(page, done);
}

}  // namespace clrscope::http
