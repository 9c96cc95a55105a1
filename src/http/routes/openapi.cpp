// The description of all routes, made from their tables.
#include "site/openapi.h"
#include "answer/text.h"
#include "base/json.h"
#include "base/shape.h"
#include "base/text.h"
#include "http/route.h"
#include "http/router.h"
#include "http/services.h"
#include "live/item_shapes.h"
#include "site/answer.h"

#include <algorithm>
#include <map>

namespace clrscope::http {
namespace {

void write_parameters(JsonWriter& json, const Route& route) {
  json.key("parameters").begin_array();
  for (const auto& one : route.parameters) {
    json.begin_object();
    write_parameter(json, {one.name, one.type, one.help, one.in});
    if (!one.scopes.empty()) {
      json.key("x-scopes").begin_object();
      for (const auto& [value, scope] : one.scopes) json.member(value, name_of(scope));
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
}

void write_event(JsonWriter& json, const StreamEvent& event) {
  if (!event.gaps) return write_value_schema(json, event.data(), kSchemas);
  json.key("anyOf").begin_array().begin_object();
  write_value_schema(json, event.data(), kSchemas);
  json.end_object().begin_object();
  write_value_schema(json, value_shape<live::LiveGap>(), kSchemas);
  json.end_object().end_array();
}

void write_events(JsonWriter& json, const Route& route) {
  json.key("x-events").begin_object();
  for (const auto& event : route.events) {
    json.key(event.name).begin_object();
    if (event.data) write_event(json, event);
    json.end_object();
  }
  json.end_object();
}

void write_contents(JsonWriter& json, const Route& route) {
  if (route.types.empty()) return;
  json.key("content").begin_object();
  for (const auto type : split(route.types, ' ')) {
    json.key(type).begin_object();
    if (type == kJson && route.json) write_schema_of(json, route.json());
    if ((type == kNdjson || type == kJsonSequence) && route.line) {
      write_schema_of(json, route.line());
      json.member("x-schema-of", "each line");
    }
    if (type == kEventStream && !route.events.empty()) write_events(json, route);
    json.end_object();
  }
  json.end_object();
}

void write_answers(JsonWriter& json, const Route& route) {
  json.key("responses").begin_object();
  const auto statuses = split(route.statuses, ' ');
  const auto has = [&](std::string_view status) {
    return std::ranges::find(statuses, status) != statuses.end();
  };
  // What is made or begun is answered with another status than 200, unless both are named.
  if (!has("200") && !has("201") && !has("202") && !has("204")) {
    json.key("200").begin_object().member("description", route.summary);
    write_contents(json, route);
    json.end_object();
  }
  for (const auto status : statuses) {
    if (status.empty()) continue;
    const auto number = static_cast<int>(parse_number(status).value_or(0));
    json.key(status).begin_object().member("description", net::status_text(number));
    if (number < 300 && number != 204) write_contents(json, route);
    if (number >= 400 && number != 503) write_content(json, kProblem, value_shape<Problem>());
    json.end_object();
  }
  json.end_object();
}

void write_route(JsonWriter& json, const Route& route) {
  std::string method{route.method};
  for (auto& letter : method) letter = static_cast<char>(letter + ('a' - 'A'));
  json.key(method)
      .begin_object()
      .member("summary", route.summary)
      .member("x-scope", name_of(route.scope));
  if (!route.running.name.empty()) {
    json.key("x-limit").begin_object().member("name", route.running.name);
    json.member("all", route.running.all);
    if (route.running.one != 0) json.member("caller", route.running.one);
    json.end_object();
  }
  write_security(json, route.scope == Scope::kOpen ? "" : "key");
  write_parameters(json, route);
  if (route.body) {
    json.key("requestBody").begin_object().key("content").begin_object().key(kJson).begin_object();
    write_schema_of(json, route.body());
    json.end_object().end_object().end_object();
  }
  write_answers(json, route);
  json.end_object();
}

// Every shape that a route names, and what these refer to.
NamedShapes shapes_of(std::span<const Route* const> routes) {
  NamedShapes all;
  gather_shapes(value_shape<Problem>(), all);
  gather_shapes(value_shape<live::LiveGap>(), all);
  for (const auto* route : routes) {
    if (route->hidden) continue;
    for (const auto shape : {route->json, route->line, route->body})
      if (shape) gather_shapes(shape(), all);
    for (const auto& event : route->events)
      if (event.data) gather_shapes(event.data(), all);
  }
  return all;
}

constexpr std::string_view kDescription =
    "The Accept header chooses the media type of an answer. On every GET route the query parameter "
    "accept=TYPE overrides it, for links and address bars: /stacks?pid=7&accept=text/plain";

Result<HttpResponse> describe(Call& call) {
  std::map<std::string_view, std::vector<const Route*>> by_path;
  for (const auto* route : call.services().router.routes())
    if (!route->hidden) by_path[route->path].push_back(route);
  JsonWriter json;
  begin_api(json, "clrscope", CLRSCOPE_VERSION, kDescription);
  json.key("paths").begin_object();
  for (const auto& [path, routes] : by_path) {
    json.key(path).begin_object();
    for (const auto* route : routes) write_route(json, *route);
    json.end_object();
  }
  json.end_object();
  end_api(json, shapes_of(call.services().router.routes()), "key",
          "clrscope key create; x-scope says which scope a route needs");
  return json_answer(std::move(json).take());
}

Document routes_document(std::span<const Route* const> routes) {
  DocumentTable table{.columns = {"METHOD", "PATH", "SCOPE", "SUMMARY"}, .keeps = "PATH"};
  for (const auto* route : routes)
    if (!route->hidden)
      table.rows.push_back({std::string{route->method}, std::string{route->path},
                            std::string{name_of(route->scope)}, std::string{route->summary}});
  return {.summary = {std::string{kDescription}}, .tables = {std::move(table)}};
}

Result<HttpResponse> answer_description(Call& call) {
  if (call.wants(kText))
    return text_answer(answer::page_text(routes_document(call.services().router.routes())));
  return describe(call);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/openapi.json",
     .scope = Scope::kOpen,
     .summary = "This description",
     .types = "application/json text/plain",
     .answer = answer_description,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes openapi_routes{kRoutes};

}  // namespace clrscope::http
