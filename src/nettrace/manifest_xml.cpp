#include "nettrace/manifest_xml.h"

#include <charconv>
#include <cstdint>

namespace clrscope::nettrace {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void append_code_point(std::string& out, std::uint32_t code) {
  if (code > 0x10ffff) code = 0xfffd;
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

std::string unescape(std::string_view text) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string out;
  while (!text.empty()) {
    const auto plain = std::min(text.find('&'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    std::size_t taken = 0;
    for (const auto& [name, character] : kNamed)
      if (text.starts_with(name)) out.push_back(character), taken = name.size();
    if (taken == 0 && text.starts_with("&#")) {
      const bool hex = text.size() > 2 && text[2] == 'x';
      const auto digits = text.substr(hex ? 3 : 2);
      std::uint32_t code = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
      const auto count = static_cast<std::size_t>(end - digits.data());
      if (error == std::errc{} && count < digits.size() && digits[count] == ';') {
        append_code_point(out, code);
        taken = (hex ? 3 : 2) + count + 1;
      }
    }
    if (taken == 0) out.push_back('&'), taken = 1;
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

bool XmlScanner::skip_past(std::string_view end) {
  const auto found = text_.find(end);
  text_.remove_prefix(found == std::string_view::npos ? text_.size() : found + end.size());
  return !text_.empty();
}

void XmlScanner::skip_blanks() {
  text_.remove_prefix(std::min(text_.find_first_not_of(kBlanks), text_.size()));
}

std::string_view XmlScanner::word() {
  const auto end = std::min(text_.find_first_of(" \t\r\n=/>\"'<"), text_.size());
  const auto found = text_.substr(0, end);
  text_.remove_prefix(end);
  return found;
}

bool XmlScanner::next(XmlTag& tag) {
  for (;;) {
    const auto found = text_.find('<');
    if (found == std::string_view::npos) return false;
    text_.remove_prefix(found);
    if (text_.starts_with("<!--")) {
      if (!skip_past("-->")) return false;
    } else if (text_.starts_with("<?") || text_.starts_with("<!")) {
      if (!skip_past(">")) return false;
    } else {
      text_.remove_prefix(1);
      if (read_tag(tag)) return true;
    }
  }
}

bool XmlScanner::read_tag(XmlTag& tag) {
  tag = {};
  if (text_.starts_with('/')) {
    tag.closing = true;
    text_.remove_prefix(1);
  }
  tag.name = word();
  if (tag.name.empty()) return false;
  for (;;) {
    skip_blanks();
    if (text_.empty() || text_.front() == '<') return true;
    if (text_.front() == '>') {
      text_.remove_prefix(1);
      return true;
    }
    if (text_.starts_with("/>")) {
      tag.empty = true;
      text_.remove_prefix(2);
      return true;
    }
    const auto key = word();
    skip_blanks();
    if (key.empty() || !text_.starts_with('=')) {
      if (key.empty()) text_.remove_prefix(1);
      continue;
    }
    text_.remove_prefix(1);
    skip_blanks();
    if (text_.empty() || (text_.front() != '"' && text_.front() != '\'')) continue;
    const auto quote = text_.front();
    text_.remove_prefix(1);
    const auto end = std::min(text_.find(quote), text_.size());
    tag.attributes.emplace_back(std::string{key}, unescape(text_.substr(0, end)));
    text_.remove_prefix(std::min(end + 1, text_.size()));
  }
}

}  // namespace clrscope::nettrace
