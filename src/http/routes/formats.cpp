// The formats that a recording can be fetched in.
#include "export/format.h"

#include "http/route.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

struct FormatAnswer {
  std::string_view name{}, extension{}, summary{};
};
const Shape& shape_of(const FormatAnswer*) {
  using F = FormatAnswer;
  static const auto shape =
      describe<F>("Format", "A file format that a trace can be converted to",
                  {member<&F::name>("name", "value of ?format= and of --format"),
                   member<&F::extension>("extension", "file name extension"),
                   member<&F::summary>("summary", "what it is for")});
  return shape;
}

Result<HttpResponse> list(Call&) {
  std::vector<FormatAnswer> all;
  for (const auto* format : exports::formats())
    all.push_back({format->name, format->extension, format->summary});
  return answer_with(all);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/formats",
     .scope = Scope::kRead,
     .summary = "Formats for GET /recordings/{id}?format=NAME",
     .types = kJson,
     .answer = list,
     .json = value_shape<std::vector<FormatAnswer>>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes formats_routes{kRoutes};

}  // namespace clrscope::http
