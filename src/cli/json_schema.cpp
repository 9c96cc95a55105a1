#include "cli/json_schema.h"

#include <fmt/format.h>

namespace clrscope::cli {
namespace {

constexpr std::string_view kReferences = "#/$defs/";

std::string title_of(const Verb& verb, const JsonAnswer& answer) {
  return fmt::format("clrscope {}{}{} --json", verb.name, answer.command.empty() ? "" : " ",
                     answer.command);
}

// The schema of one object, without its braces.
void write_object(JsonWriter& json, const JsonAnswer& answer) {
  if (answer.value) return write_value_schema(json, answer.value(), kReferences);
  json.member("$ref", fmt::format("{}{}", kReferences, answer.shape().name()));
}

void write_answer(JsonWriter& json, const Verb& verb, const JsonAnswer& answer) {
  json.member("title", title_of(verb, answer));
  switch (answer.form) {
    case JsonAnswer::Form::kObject:
      return write_object(json, answer);
    case JsonAnswer::Form::kLines:
      json.member("description", "one JSON object per line");
      return write_object(json, answer);
    case JsonAnswer::Form::kList:
      json.member("type", "array").key("items").begin_object();
      write_object(json, answer);
      json.end_object();
  }
}

}  // namespace

std::string json_schema(const Verb& verb) {
  JsonWriter json;
  json.begin_object().member("$schema", "https://json-schema.org/draft/2020-12/schema");
  if (verb.answers.size() == 1) {
    write_answer(json, verb, verb.answers[0]);
  } else {
    json.key("anyOf").begin_array();
    for (const auto& answer : verb.answers) {
      json.begin_object();
      write_answer(json, verb, answer);
      json.end_object();
    }
    json.end_array();
  }
  std::map<std::string_view, const Shape*> all;
  for (const auto& answer : verb.answers) gather_shapes(answer, all);
  json.key("$defs").begin_object();
  for (const auto& [name, shape] : all) {
    json.key(name);
    write_schema(json, *shape, kReferences);
  }
  json.end_object().end_object();
  return std::move(json).take() + "\n";
}

}  // namespace clrscope::cli
