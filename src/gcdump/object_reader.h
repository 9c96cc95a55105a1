// Objects of a .gcdump one after the other: a tag, the type (described where it is first used, then
// referred to by its place), the fields, a tag at the end.
// For the files of this room.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::gcdump {

struct ObjectType {
  std::string name{};
  std::int32_t version = 0;
  std::int32_t reader = 0;  // the oldest version of a reader that understands it
};

class ObjectReader {
 public:
  explicit ObjectReader(ByteReader& in) : in_(in) {}

  // The type of the object whose fields come next; nothing for null.
  Result<std::optional<ObjectType>> begin();
  // Its end; values with tags that a later version added are skipped.
  Result<> end(std::string_view what);

  Result<> skip_empty();         // an object without fields, or null
  Result<std::string> module();  // the path of a Graphs.Module
  // The last of the values at the end of the file's object, if it has the one of ours.
  std::string last_text();

 private:
  Result<ObjectType> type();

  ByteReader& in_;
  std::map<std::uint32_t, ObjectType> types_;     // by their places
  std::map<std::uint32_t, std::string> modules_;  // likewise
};

}  // namespace clrscope::gcdump
