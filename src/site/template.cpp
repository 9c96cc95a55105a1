#include "site/template.h"

#include <algorithm>
#include <vector>

#include "base/html.h"
#include "base/result.h"
#include "base/text.h"
#include "site/assets.h"

namespace clrscope::site {
namespace {

// "<" stands in strings only; escaped, no string can end the script element or begin a comment.
std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string inserted(const Mark& mark) {
  return mark.as == Mark::As::kScript ? script_safe(mark.value) : html_escaped(mark.value);
}

// Whether "@name@" begins here.
bool stands_at(std::string_view page, std::size_t at, std::string_view name) {
  const auto rest = page.substr(at + 1);
  return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '@';
}

}  // namespace

std::string fill(std::string_view page, std::span<const Mark> marks) {
  std::string out;
  std::vector<bool> used(marks.size());
  std::size_t done = 0;
  for (auto at = page.find('@'); at != std::string_view::npos; at = page.find('@', at)) {
    const auto mark =
        std::ranges::find_if(marks, [&](const Mark& one) { return stands_at(page, at, one.name); });
    if (mark == marks.end()) {  // of a style sheet or a script
      ++at;
      continue;
    }
    used[static_cast<std::size_t>(mark - marks.begin())] = true;
    out.append(page.substr(done, at - done)).append(inserted(*mark));
    at += mark->name.size() + 2;
    done = at;
  }
  CHECK(std::ranges::find(used, false) == used.end());
  return out.append(page.substr(done));
}

std::string page_from(std::string_view file, std::span<const Mark> marks) {
  const auto* asset = find_asset("templates/" + std::string{file});
  CHECK(asset != nullptr);
  const auto page = plain_content(*asset);
  CHECK(page.has_value());
  return fill(*page, marks);
}

}  // namespace clrscope::site
