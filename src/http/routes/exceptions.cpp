// The exceptions that a process threw lately, with their stacks. The first call begins to watch.
#include <algorithm>

#include "base/json_reader.h"
#include "base/text.h"
#include "http/json_body.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

// An exception is listed if it matches all fields of one filter.
struct Filter {
  std::string exception_type{}, type{}, method{}, module{};

  bool takes(const live::NamedException& one) const {
    if (!exception_type.empty() && one.thrown.type != exception_type) return false;
    if (type.empty() && method.empty() && module.empty()) return true;
    // By the frame that threw.
    if (one.frames.empty()) return false;
    const auto& frame = one.frames.front();
    const auto name = frame.method.substr(0, frame.method.find('('));
    return (method.empty() || name.ends_with("." + method) || name == method) &&
           (type.empty() || name.starts_with(type + ".") ||
            name.find("." + type + ".") != std::string::npos) &&
           (module.empty() || frame.module == module || frame.module + ".dll" == module);
  }
};

Result<std::vector<Filter>> filters_of(const JsonValue& body, std::string_view name) {
  std::vector<Filter> filters;
  const auto* list = find_member(body, name);
  if (list == nullptr || list->is_null()) return filters;
  if (list->array() == nullptr) return fail(Errc::kUsage, "{} must be an array", name);
  for (const auto& one : *list->array()) {
    Filter filter;
    for (const auto& [key, to] :
         {std::pair{"exceptionType", &filter.exception_type}, std::pair{"typeName", &filter.type},
          std::pair{"methodName", &filter.method}, std::pair{"moduleName", &filter.module}})
      if (const auto* value = find_member(one, key)) {
        if (value->text() == nullptr)
          return fail(Errc::kUsage, "{}.{} must be a string", name, key);
        *to = *value->text();
      }
    filters.push_back(std::move(filter));
  }
  return filters;
}

Result<HttpResponse> exceptions(Call& call) {
  std::vector<Filter> include, exclude;
  if (call.request().method == "POST") {
    const auto body = TRY(read_body(call));
    include = TRY(filters_of(body, "include"));
    exclude = TRY(filters_of(body, "exclude"));
  }
  const auto most = TRY(call.number("limit", 1, 1000)).value_or(100);
  const auto who = TRY(chosen_live(call));
  auto answer = call.services().live.exceptions(who, 1000, messages_for(call));
  if (!answer) return live_problem(answer.error());
  const auto any = [](const std::vector<Filter>& filters, const auto& one) {
    return std::ranges::any_of(filters, [&](const auto& filter) { return filter.takes(one); });
  };
  auto& all = answer->thrown;
  std::erase_if(all, [&](const auto& one) {
    return (!include.empty() && !any(include, one)) || any(exclude, one);
  });
  if (all.size() > static_cast<std::size_t>(most)) all.erase(all.begin(), all.end() - most);
  std::string body;
  std::vector<live::ExceptionAnswer> answers;
  for (const auto& one : all) {
    if (call.wants(kText))
      body += (body.empty() ? "" : "\n") + live::exception_text(one);
    else if (call.wants(kJsonSequence))
      body += json_sequence(json_text(live::answer_of(one)));
    else if (call.wants(kJson))
      answers.push_back(live::answer_of(one));
    else
      body += json_text(live::answer_of(one)) + "\n";
  }
  if (call.wants(kJson)) body = json_text(answers) + "\n";
  HttpResponse response{.type = std::string{call.type()}, .body = std::move(body)};
  response.fields.push_back({"X-Total-Count", std::to_string(answer->total)});
  return response;
}

// The JSON body as it is published. Read field by field: names are case-insensitive.
struct FilterBody {
  std::optional<std::string> exception_type{}, type{}, method{}, module{};
};
const Shape& shape_of(const FilterBody*) {
  using F = FilterBody;
  static const auto shape =
      describe<F>("ExceptionFilter", "Exceptions that all of these fit",
                  {member<&F::exception_type>("exceptionType", "type of the exception"),
                   member<&F::type>("typeName", "type of the method that threw"),
                   member<&F::method>("methodName", "method that threw"),
                   member<&F::module>("moduleName", "module of that method")});
  return shape;
}
struct ExceptionsBody {
  std::optional<std::vector<FilterBody>> include{}, exclude{};
};
const Shape& shape_of(const ExceptionsBody*) {
  using B = ExceptionsBody;
  static const auto shape =
      describe<B>("ExceptionsRequest", "Which exceptions to list",
                  {member<&B::include>("include", "only those that fit one of these"),
                   member<&B::exclude>("exclude", "none that fits one of these")});
  return shape;
}

constexpr std::string_view kTypes =
    "application/x-ndjson application/json-seq text/plain application/json";
constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "limit", .type = "integer", .help = "number of the newest exceptions (default: 100)"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/exceptions",
     .scope = Scope::kRead,
     .summary = "Exceptions thrown since the process is watched, with stacks; messages need the "
                "scope trace",
     .types = kTypes,
     .parameters = kParameters,
     .answer = exceptions,
     .json = value_shape<std::vector<live::ExceptionAnswer>>,
     .line = value_shape<live::ExceptionAnswer>,
     .statuses = "400 404 410 429"},
    {.method = "POST",
     .path = "/exceptions",
     .scope = Scope::kRead,
     .summary = "The same, filtered by type and method",
     .types = kTypes,
     .parameters = kParameters,
     .answer = exceptions,
     .json = value_shape<std::vector<live::ExceptionAnswer>>,
     .line = value_shape<live::ExceptionAnswer>,
     .body = value_shape<ExceptionsBody>,
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes exceptions_routes{kRoutes};

}  // namespace clrscope::http
