// The shapes that answers have: JSON, text, documents, problems.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/shape.h"
#include "net/http_message.h"

namespace clrscope::site {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kText = "text/plain";
inline constexpr std::string_view kHtml = "text/html";
inline constexpr std::string_view kNdjson = "application/x-ndjson";
inline constexpr std::string_view kJsonSequence = "application/json-seq";
inline constexpr std::string_view kEventStream = "text/event-stream";
inline constexpr std::string_view kOctets = "application/octet-stream";

net::HttpResponse json_answer(std::string body, int status = 200);
// Of any value that has a shape.
template <class T>
net::HttpResponse answer_with(const T& value, int status = 200) {
  return json_answer(json_text(value) + "\n", status);
}
net::HttpResponse text_answer(std::string body, int status = 200);
net::HttpResponse html_answer(std::string body, int status = 200);

inline constexpr std::string_view kProblem = "application/problem+json";

// application/problem+json (RFC 9457): what failed, and the hint beside it.
struct Problem {
  int status = 0;
  std::string title{}, detail{}, hint{};
};
const Shape& shape_of(const Problem*);
net::HttpResponse problem(int status, std::string_view detail, std::string_view hint = {});
net::HttpResponse problem(const Error& error);

// What every answer carries: no sniffing, no framing, no foreign scripts, nothing kept by caches.
void add_security_fields(net::HttpResponse& response);

}  // namespace clrscope::site
