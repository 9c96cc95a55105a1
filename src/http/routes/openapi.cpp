// The description of all routes, made from their tables.
#include "base/json.h"
#include "base/text.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/router.h"
#include "http/services.h"

#include <map>

namespace clrscope::http {
namespace {

void write_parameters(JsonWriter& json, const Route& route) {
  json.key("parameters").begin_array();
  for (const auto& one : route.parameters) {
    json.begin_object()
        .member("name", one.name)
        .member("in", one.in == Parameter::In::kPath ? "path" : "query")
        .member("required", one.in == Parameter::In::kPath)
        .member("description", one.help)
        .key("schema")
        .begin_object()
        .member("type", one.type)
        .end_object();
    if (!one.scopes.empty()) {
      json.key("x-scopes").begin_object();
      for (const auto& [value, scope] : one.scopes) json.member(value, name_of(scope));
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
}

void write_answers(JsonWriter& json, const Route& route) {
  json.key("responses").begin_object();
  json.key("200").begin_object().member("description", route.summary);
  if (!route.types.empty()) {
    json.key("content").begin_object();
    for (const auto type : split(route.types, ' ')) json.key(type).begin_object().end_object();
    json.end_object();
  }
  json.end_object();
  if (!route.statuses.empty())
    for (const auto status : split(route.statuses, ' '))
      json.key(status)
          .begin_object()
          .member("description",
                  net::status_text(static_cast<int>(parse_number(status).value_or(0))))
          .end_object();
  json.end_object();
}

void write_route(JsonWriter& json, const Route& route) {
  std::string method{route.method};
  for (auto& letter : method) letter = static_cast<char>(letter + ('a' - 'A'));
  json.key(method)
      .begin_object()
      .member("summary", route.summary)
      .member("x-scope", name_of(route.scope));
  json.key("security").begin_array();
  if (route.scope != Scope::kOpen)
    json.begin_object().key("key").begin_array().end_array().end_object();
  json.end_array();
  write_parameters(json, route);
  if (!route.body.empty())
    json.key("requestBody")
        .begin_object()
        .key("content")
        .begin_object()
        .key(kJson)
        .begin_object()
        .member("schema", route.body)
        .end_object()
        .end_object()
        .end_object();
  write_answers(json, route);
  json.end_object();
}

// A schema is JSON already: where it was written as text, it is put as it is.
void unquote(std::string& text, std::string_view schema) {
  std::string quoted;
  append_json_string(quoted, schema);
  for (auto at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at))
    text.replace(at, quoted.size(), schema);
}

Result<HttpResponse> describe(Call& call) {
  std::map<std::string_view, std::vector<const Route*>> by_path;
  for (const auto* route : call.services().router.routes())
    if (!route->hidden) by_path[route->path].push_back(route);
  JsonWriter json;
  json.begin_object().member("openapi", "3.0.3").key("info").begin_object();
  json.member("title", "clrscope").member("version", CLRSCOPE_VERSION).end_object();
  json.key("paths").begin_object();
  for (const auto& [path, routes] : by_path) {
    json.key(path).begin_object();
    for (const auto* route : routes) write_route(json, *route);
    json.end_object();
  }
  json.end_object();
  json.key("components").begin_object().key("securitySchemes").begin_object().key("key");
  json.begin_object()
      .member("type", "http")
      .member("scheme", "bearer")
      .member("description", "clrscope key create; x-scope says which scope a route needs")
      .end_object();
  json.end_object().end_object().end_object();
  auto text = std::move(json).take();
  for (const auto* route : call.services().router.routes())
    if (!route->hidden && !route->body.empty()) unquote(text, route->body);
  return json_answer(std::move(text));
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/openapi.json",
     .scope = Scope::kOpen,
     .summary = "This description",
     .types = kJson,
     .answer = describe,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes openapi_routes{kRoutes};

}  // namespace clrscope::http
