#include "gcdump/object_reader.h"

#include "gcdump/encoding.h"

namespace clrscope::gcdump {
namespace {

constexpr std::size_t kMostKept = 100'000;  // types and modules that others may refer to
constexpr std::uint8_t kBeginPrivateObject = 5;

std::uint32_t place_of(const ByteReader& in) { return static_cast<std::uint32_t>(in.offset()); }

}  // namespace

Result<std::optional<ObjectType>> ObjectReader::begin() {
  const auto at = in_.offset();
  const auto tag = in_.read<std::uint8_t>();
  if (in_.ok() && tag == kNull) return std::nullopt;
  if (tag != kBeginObject && tag != kBeginPrivateObject)
    return fail(Errc::kCorrupt, "damaged .gcdump: no object at byte {}", at);
  return TRY(type());
}

Result<ObjectType> ObjectReader::type() {
  const auto place = place_of(in_);
  const auto tag = in_.read<std::uint8_t>();
  if (tag == kReference) {
    const auto known = types_.find(in_.read<std::uint32_t>());
    if (in_.ok() && known != types_.end()) return known->second;
  } else if (tag == kBeginObject && in_.read<std::uint8_t>() == kNull) {
    ObjectType type{.version = in_.read<std::int32_t>(), .reader = in_.read<std::int32_t>()};
    type.name = take_text(in_);
    if (in_.read<std::uint8_t>() == kEndObject && in_.ok()) {
      if (types_.size() < kMostKept) types_[place] = type;
      return type;
    }
  }
  return fail(Errc::kCorrupt, "damaged .gcdump: no type of an object at byte {}", place);
}

Result<> ObjectReader::end(std::string_view what) {
  while (in_.ok()) {
    switch (in_.read<std::uint8_t>()) {
      case kEndObject:
        return {};
      case kNull:
        break;
      case kByte:
        in_.skip(1);
        break;
      case kInt16:
        in_.skip(2);
        break;
      case kInt32:
      case kReference:
        in_.skip(4);
        break;
      case kInt64:
        in_.skip(8);
        break;
      case kText:
        (void)take_text(in_);
        break;
      case kBlob:
        in_.skip(in_.read<std::uint32_t>());
        break;
      default:
        in_.fail();
    }
  }
  return fail(Errc::kCorrupt, "damaged .gcdump: the end of its {} is missing", what);
}

Result<> ObjectReader::skip_empty() {
  const auto type = TRY(begin());
  return type ? end(type->name) : Result<>{};
}

Result<std::string> ObjectReader::module() {
  const auto place = place_of(in_);
  ByteReader ahead = in_;
  if (ahead.read<std::uint8_t>() == kReference) {
    in_.skip(1);
    const auto known = modules_.find(in_.read<std::uint32_t>());
    return known == modules_.end() ? std::string{} : known->second;
  }
  const auto type = TRY(begin());
  if (!type) return std::string{};
  if (type->name != kModuleType)
    return fail(Errc::kCorrupt, "damaged .gcdump: a {} instead of a module", type->name);
  auto path = take_text(in_);
  in_.skip(8 + 4 + 8);  // where it was loaded, its size, when it was built
  (void)take_text(in_);
  in_.skip(16 + 4);  // its PDB
  TRY(end(kModuleType));
  if (modules_.size() < kMostKept) modules_[place] = path;
  return path;
}

std::string ObjectReader::last_text() {
  auto tag = in_.read<std::uint8_t>();
  if (tag == kSkipRegion) {  // COM objects; our files have none
    in_.skip(4);
    if (in_.read<std::uint8_t>() != kNull) return {};
    tag = in_.read<std::uint8_t>();
  }
  if (tag != kText) return {};
  (void)take_text(in_);  // which tool wrote the file
  return in_.read<std::uint8_t>() == kText ? take_text(in_) : std::string{};
}

}  // namespace clrscope::gcdump
