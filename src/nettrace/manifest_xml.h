// The tags of an XML text, one after the other, as far as event manifests need it: attributes and
// the five named and the numbered entities; text between tags, comments and declarations are
// skipped. Never fails: what is not a tag is passed over.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clrscope::nettrace {

struct XmlTag {
  std::string name{};
  bool closing = false;  // </name>
  bool empty = false;    // <name/>
  std::vector<std::pair<std::string, std::string>> attributes{};

  std::string_view local_name() const {
    const auto colon = name.rfind(':');
    return colon == std::string::npos ? std::string_view{name}
                                      : std::string_view{name}.substr(colon + 1);
  }
  std::string attribute(std::string_view key) const {
    for (const auto& [name_, value] : attributes)
      if (name_ == key) return value;
    return {};
  }
};

class XmlScanner {
 public:
  explicit XmlScanner(std::string_view text) : text_(text) {}

  bool next(XmlTag& tag);

 private:
  bool skip_past(std::string_view end);
  void skip_blanks();
  std::string_view word();
  bool read_tag(XmlTag& tag);

  std::string_view text_;
};

}  // namespace clrscope::nettrace
