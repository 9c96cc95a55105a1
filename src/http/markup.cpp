#include "http/markup.h"

#include <cmath>

#include "base/html.h"
#include "base/text.h"
#include "http/answer.h"
#include "http/router.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

bool is_number(Column::As as) {
  return as != Column::As::kWords && as != Column::As::kTime && as != Column::As::kCode;
}

std::string with_unit(double value, std::string_view unit) {
  const auto size = std::abs(value);
  const int digits = size >= 100 || value == std::floor(value) ? 0 : size >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, digits, unit);
}

}  // namespace

std::string query_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string page_link(const Call& call, std::string_view path, std::string_view query) {
  const auto pid = call.number("pid", 1, 0x7fffffff);
  return page_link(call, path, pid && *pid ? static_cast<pid_t>(**pid) : 0, query);
}

std::string page_link(const Call& call, std::string_view path, pid_t pid, std::string_view query) {
  auto out = call.link(path);
  if (pid != 0) out += fmt::format("?pid={}", pid);
  if (!query.empty()) out += (pid != 0 ? "&" : "?") + std::string{query};
  return out;
}

std::string anchor(std::string_view address, std::string_view words, std::string_view css) {
  auto out = "<a href=\"" + html_escaped(address) + "\"";
  if (!css.empty()) out += " class=\"" + html_escaped(css) + "\"";
  return out + ">" + html_escaped(words) + "</a>";
}

std::string notice(std::string_view what, std::string_view hint, std::string_view css) {
  auto out = fmt::format("<div class=\"{}\">\n<p>{}</p>\n", css, html_escaped(what));
  if (!hint.empty()) out += "<p class=\"hint\">" + html_escaped(hint) + "</p>\n";
  return out + "</div>\n";
}

std::string trouble(const Error& error) { return notice(error.what, error.hint, "trouble"); }

std::string cell_of(const JsonValue& value, Column::As as) {
  if (const auto* text = value.text()) {
    auto shown = *text;
    if (as == Column::As::kTime && shown.size() > 19) {
      shown.resize(19);
      if (shown[10] == 'T') shown[10] = ' ';
    }
    return html_escaped(shown);
  }
  if (const auto truth = value.boolean()) return *truth ? "yes" : "no";
  const auto number = value.number();
  if (!number) return "";
  switch (as) {
    case Column::As::kMs:
      return with_unit(*number, " ms");
    case Column::As::kPercent:
      return with_unit(*number, " %");
    case Column::As::kBytes:
      return *number < 0 ? "?" : format_bytes(static_cast<std::uint64_t>(*number));
    case Column::As::kCount:
      return *number < 0 ? "?" : format_count(static_cast<std::uint64_t>(*number));
    default:
      return with_unit(*number, "");
  }
}

const JsonValue* find_below(const JsonValue& value, std::string_view path) {
  const auto* at = &value;
  for (const auto part : split(path, '.'))
    if (at) at = at->find(part);
  return at;
}

std::string table_of(const JsonValue& rows, const std::vector<Column>& columns,
                     std::string_view caption, std::size_t most) {
  const auto* all = rows.array();
  if (!all || all->empty()) return {};
  std::string out = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
                    html_escaped(caption) + "\">\n<table>\n<caption>" + html_escaped(caption) +
                    "</caption>\n<thead><tr>";
  for (const auto& column : columns)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", is_number(column.as) ? " class=\"num\"" : "",
                       html_escaped(column.title));
  out += "</tr></thead>\n<tbody>\n";
  std::size_t shown = 0;
  for (const auto& row : *all) {
    if (shown++ == most) break;
    out += "<tr>";
    for (const auto& column : columns) {
      const auto* value = find_below(row, column.key);
      const auto css = is_number(column.as)             ? " class=\"num\""
                       : column.as == Column::As::kCode ? " class=\"code\""
                                                        : "";
      out += fmt::format("<td{}>{}</td>", css, value ? cell_of(*value, column.as) : "");
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
  if (all->size() > most)
    out += fmt::format("<p class=\"dim\">and {} more</p>\n", format_count(all->size() - most));
  return out;
}

bool has_route(const Call& call, std::string_view path) {
  return call.services().router.find("GET", path).route != nullptr;
}

Result<HttpResponse> ask(Call& call, std::string_view path, std::string_view type) {
  const auto mark = path.find('?');
  auto match = call.services().router.find("GET", path.substr(0, mark));
  if (!match.route || !match.route->answer)
    return fail(Errc::kUnsupported, "{} is not there", path.substr(0, mark));
  if (!call.caller().scopes.has(match.route->scope))
    return fail(Errc::kDenied, "{} needs the scope {}", path.substr(0, mark),
                name_of(match.route->scope))
        .hint("yours are: {}", text_of(call.caller().scopes));
  std::optional<std::string> query;
  if (mark != std::string_view::npos) query = std::string{path.substr(mark + 1)};
  auto response = TRY(call.answer_of(*match.route, std::move(match.values), type, query));
  if (response.status < 400) return response;
  const auto said = read_json(response.body);
  const auto* detail = said ? said->find("detail") : nullptr;
  const auto* hint = said ? said->find("hint") : nullptr;
  return fail(response.status == 404 ? Errc::kNotFound : Errc::kSystem, "{}",
              detail && detail->text() ? *detail->text() : response.body)
      .hint("{}", hint && hint->text() ? *hint->text() : std::string{});
}

Result<JsonValue> ask_json(Call& call, std::string_view path) {
  const auto response = TRY(ask(call, path, kJson));
  return read_json(response.shared_body ? *response.shared_body : response.body);
}

Result<std::string> ask_text(Call& call, std::string_view path) {
  auto response = TRY(ask(call, path, kText));
  return response.shared_body ? *response.shared_body : std::move(response.body);
}

}  // namespace clrscope::http
