// Pages are files of web/templates; what differs from request to request stands in them as @marks@.
//
// web/build.mjs puts in what is the same for all: etags, and the app itself into the single file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace clrscope::site {

struct Mark {
  enum class As : std::uint8_t {
    kEscaped,  // HTML-escaped: between tags and in quoted attributes
    kScript,   // a whole JSON value, for a <script type="application/json">
  };
  std::string_view name;  // "base", for @base@
  std::string_view value;
  As as = As::kEscaped;
};

// The template with its marks filled in. A value is not searched for marks. Every mark given must
// be in the template.
std::string fill(std::string_view page, std::span<const Mark> marks);

// The same with a file of web/templates: "index.html".
std::string page_from(std::string_view file, std::span<const Mark> marks);

}  // namespace clrscope::site
