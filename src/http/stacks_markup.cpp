#include "http/stacks_markup.h"

#include <set>

#include "base/html.h"
#include "base/text.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kThread = "thread ";
constexpr std::string_view kHolds = "  holds ";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view digits_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(0, end);
}

// "0x7f3a10", or nothing.
std::string_view address_at(std::string_view text) {
  if (!text.starts_with("0x")) return {};
  std::size_t end = 2;
  while (end < text.size() && is_word(text[end])) ++end;
  return end > 4 ? text.substr(0, end) : std::string_view{};
}

// The thread that a line begins to tell of.
std::string_view thread_of(std::string_view line) {
  if (!line.starts_with("Thread (0x")) return {};
  const auto at = line.find("): ");
  return at == std::string_view::npos ? std::string_view{} : digits_at(line.substr(at + 3));
}

std::string_view held_by(std::string_view line) {
  return line.starts_with(kHolds) ? address_at(line.substr(kHolds.size())) : std::string_view{};
}

struct Anchors {
  std::set<std::string_view> threads{}, locks{};
};

// Frames are left alone: what looks like a thread in a method's name is none.
bool is_frame(std::string_view line) { return line.find('!') != std::string_view::npos; }

std::string linked(std::string_view line, const Anchors& anchors) {
  std::string out;
  std::size_t plain = 0;
  const auto link = [&](std::size_t at, std::size_t size, std::string target) {
    out += html_escaped(line.substr(plain, at - plain)) + "<a href=\"#" + target + "\">" +
           html_escaped(line.substr(at, size)) + "</a>";
    plain = at + size;
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (at < plain || (at > 0 && is_word(line[at - 1]))) continue;
    const auto rest = line.substr(at);
    if (rest.starts_with(kThread)) {
      const auto id = digits_at(rest.substr(kThread.size()));
      if (anchors.threads.contains(id)) link(at, kThread.size() + id.size(), "t" + std::string{id});
    } else if (const auto lock = address_at(rest); anchors.locks.contains(lock)) {
      link(at, lock.size(), "l" + std::string{lock});
    }
  }
  return out + html_escaped(line.substr(plain));
}

}  // namespace

std::string stacks_markup(std::string_view text) {
  const auto lines = split(text, '\n');
  Anchors anchors;
  for (const auto line : lines) {
    if (const auto thread = thread_of(line); !thread.empty()) anchors.threads.insert(thread);
    if (const auto lock = held_by(line); !lock.empty()) anchors.locks.insert(lock);
  }
  std::string out;
  std::set<std::string_view> placed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = lines[i];
    if (const auto thread = thread_of(line); !thread.empty())
      out += "<b id=\"t" + std::string{thread} + "\">" + html_escaped(line) + "</b>";
    else if (const auto lock = held_by(line); !lock.empty() && placed.insert(lock).second)
      out += "<span id=\"l" + std::string{lock} + "\">" + html_escaped(line) + "</span>";
    else if (line.starts_with("✖"))
      out += "<b class=\"harm\">" + html_escaped(line) + "</b>";
    else
      out += is_frame(line) ? html_escaped(line) : linked(line, anchors);
    if (i + 1 < lines.size()) out += "\n";
  }
  return out;
}

}  // namespace clrscope::http
