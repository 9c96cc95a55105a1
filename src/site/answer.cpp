#include "site/answer.h"

#include "base/printable.h"

namespace clrscope::site {
namespace {

net::HttpResponse answer(std::string_view type, std::string body, int status) {
  return {.status = status, .type = std::string{type}, .body = std::move(body)};
}

int status_of(const Error& error) {
  switch (error.code) {
    case Errc::kNotFound:
      return 404;
    case Errc::kDenied:
      return 403;
    case Errc::kCorrupt:
    case Errc::kUsage:
      return 400;
    case Errc::kUnsupported:
      return 501;
    case Errc::kTimeout:
      return 504;
    case Errc::kGone:
      return 410;
    case Errc::kTooLarge:
      return 413;
    case Errc::kBusy:
      return 429;
    case Errc::kNoRoom:
      return 507;
    case Errc::kSystem:
      break;
  }
  return 500;
}

}  // namespace

net::HttpResponse json_answer(std::string body, int status) {
  return answer(kJson, std::move(body), status);
}

net::HttpResponse text_answer(std::string body, int status) {
  body = printable_lines(body);  // plain text is looked at in terminals
  return answer("text/plain; charset=utf-8", std::move(body), status);
}

net::HttpResponse html_answer(std::string body, int status) {
  return answer("text/html; charset=utf-8", std::move(body), status);
}

const Shape& shape_of(const Problem*) {
  using P = Problem;
  static const auto shape =
      describe<P>("Problem", "An error (RFC 9457)",
                  {member<&P::status>("status", "HTTP status code"),
                   member<&P::title>("title", "meaning of the status code"),
                   member<&P::detail>("detail", "what failed, with the value that failed"),
                   member_unless_empty<&P::hint>("hint", "what to do about it")});
  return shape;
}

net::HttpResponse problem(int status, std::string_view detail, std::string_view hint) {
  const Problem answered{.status = status,
                         .title = std::string{net::status_text(status)},
                         .detail = std::string{detail},
                         .hint = std::string{hint}};
  return answer(kProblem, json_text(answered) + "\n", status);
}

net::HttpResponse problem(const Error& error) {
  auto response = problem(status_of(error), error.what, error.hint);
  if (response.status == 429) response.fields.push_back({"Retry-After", "1"});
  return response;
}

void add_security_fields(net::HttpResponse& response) {
  static const net::HttpField kFields[] = {
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
       "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
       "frame-ancestors 'none'"},
  };
  for (const auto& field : kFields)
    if (!net::find_field(response.fields, field.name)) response.fields.push_back(field);
  if (!net::find_field(response.fields, "Cache-Control"))
    response.fields.push_back({"Cache-Control", "no-store"});
}

}  // namespace clrscope::site
