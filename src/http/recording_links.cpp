#include "http/recording_links.h"

#include <fmt/format.h>

#include "base/html.h"
#include "export/format.h"

namespace clrscope::http {
namespace {

std::string text_of(const JsonValue& value, std::string_view path) {
  const auto* found = find_below(value, path);
  return found && found->text() ? *found->text() : std::string{};
}

std::string time_of(const JsonValue& value, std::string_view path) {
  const auto* found = find_below(value, path);
  return found ? cell_of(*found, Column::As::kTime) : std::string{};
}

}  // namespace

std::string recording_links(const Call& call, const JsonValue& recording) {
  const auto id = query_escaped(text_of(recording, "id"));
  if (text_of(recording, "state") == "recording")
    return "<span class=\"dim\">being recorded</span>";
  const auto file = call.link("/recordings/" + id);
  std::string out;
  if (has_route(call, "/flame"))
    out +=
        anchor(page_link(call, "/flame", "recording=" + id), "flame graph", "open-flame") + " · ";
  out += anchor(call.link("/assets/speedscope/index.html") +
                    "#profileURL=" + query_escaped(file + "?format=speedscope") +
                    "&title=" + query_escaped(text_of(recording, "file")),
                "speedscope") +
         " · " + anchor(file + "?format=nettrace", "nettrace");
  for (const auto* format : exports::formats())
    if (format->name != "nettrace")
      out += " · " + anchor(file + "?format=" + query_escaped(format->name), format->name);
  return out;
}

std::string recent_recordings(Call& call, std::size_t most) {
  const auto kept = ask_json(call, "/recordings");
  if (!kept || !kept->array() || kept->array()->empty()) return {};
  std::string out = "<ul class=\"list\">\n";
  for (const auto& one : *kept->array()) {
    if (most-- == 0) break;
    out += "<li>" + time_of(one, "started") + " " + html_escaped(text_of(one, "process.name")) +
           " <span class=\"dim\">" + html_escaped(text_of(one, "profile")) + "</span><br>" +
           recording_links(call, one) + "</li>\n";
  }
  return out + "</ul>\n";
}

}  // namespace clrscope::http
