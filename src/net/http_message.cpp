#include "net/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/text.h"

namespace clrscope::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_safe(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 && c != '\t') || byte == 0x7f ? ' ' : c;
  }
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  append_safe(out, name);
  out += ": ";
  append_safe(out, value);
  out += "\r\n";
}

// "text/html;level=1;q=0.5" → how much; nothing when it is not about `type`.
struct Liking {
  int precision;  // "text/html" beats "text/*" beats "*/*"
  double quality;
};

std::optional<Liking> liking_of(std::string_view range, std::string_view type) {
  const auto parts = split(range, ';');
  const auto name = trim(parts[0]);
  const auto slash = type.find('/');
  Liking liking{.precision = 0, .quality = 1};
  if (equal_ignoring_case(name, type))
    liking.precision = 2;
  else if (name.ends_with("/*") &&
           equal_ignoring_case(name.substr(0, name.size() - 2), type.substr(0, slash)))
    liking.precision = 1;
  else if (name != "*/*" && name != "*")
    return std::nullopt;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto parameter = trim(parts[i]);
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
    const auto number = parameter.substr(2);
    double quality = 0;
    const auto end = number.data() + number.size();
    if (std::from_chars(number.data(), end, quality).ptr == end)
      liking.quality = std::clamp(quality, 0.0, 1.0);
  }
  return liking;
}

}  // namespace

std::optional<std::string_view> find_field(const std::vector<HttpField>& fields,
                                           std::string_view name) {
  for (const auto& field : fields)
    if (equal_ignoring_case(field.name, name)) return field.value;
  return std::nullopt;
}

std::optional<std::string> HttpRequest::parameter(std::string_view name) const {
  for (const auto part : split(query, '&')) {
    const auto equals = part.find('=');
    const auto key = percent_decode(part.substr(0, equals), true);
    if (!key || *key != name) continue;
    return percent_decode(
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1), true);
  }
  return std::nullopt;
}

std::string_view status_text(int status) {
  static constexpr std::pair<int, std::string_view> kTexts[] = {
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  for (const auto& [number, text] : kTexts)
    if (number == status) return text;
  return "Unknown";
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string response_head(const HttpResponse& response, HttpFraming framing, std::uint64_t length,
                          bool keep_alive, std::string_view date) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", response.status,
                 status_text(response.status));
  if (!date.empty()) append_field(head, "Date", date);
  if (!response.type.empty()) append_field(head, "Content-Type", response.type);
  for (const auto& field : response.fields) append_field(head, field.name, field.value);
  if (framing == HttpFraming::kChunked) head += "Transfer-Encoding: chunked\r\n";
  // 204 and 304 have no body, and 204 may not speak of its length.
  if (framing == HttpFraming::kLength && response.status != 204 && response.status != 304)
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", length);
  if (!keep_alive) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

std::string http_date(std::int64_t unix_seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm at{};
  ::gmtime_r(&seconds, &at);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[at.tm_wday], at.tm_mday,
                     kMonths[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
}

double accept_quality(std::optional<std::string_view> accept, std::string_view type) {
  if (!accept) return 1;
  std::optional<Liking> best;
  for (const auto range : split(*accept, ',')) {
    const auto liking = liking_of(range, type);
    if (liking && (!best || liking->precision > best->precision)) best = liking;
  }
  return best ? best->quality : 0;
}

}  // namespace clrscope::net
