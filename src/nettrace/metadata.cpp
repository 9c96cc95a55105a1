#include "nettrace/metadata.h"

namespace clrscope::nettrace {
namespace {

constexpr std::uint32_t kFlatNumbers = 65536;
constexpr std::size_t kMaxTypes = 200'000;
constexpr std::size_t kMaxBytes = 64 << 20;  // of all declarations
constexpr std::size_t kMaxFields = 4096;     // of one type, nested ones included
constexpr int kMaxDepth = 16;

enum class Layout { kV1, kV2, kV6 };

// Reads the fields of one type; what is absurd fails the reader.
class FieldReader {
 public:
  FieldReader(ByteReader& in, Layout layout) : in_(in), layout_(layout) {}

  std::vector<Field> fields(int depth = 0) {
    const std::size_t count =
        layout_ == Layout::kV6 ? in_.read<std::uint16_t>() : in_.read<std::uint32_t>();
    std::vector<Field> out;
    if (count > kMaxFields || depth > kMaxDepth) in_.fail();
    for (std::size_t i = 0; i < count && in_.ok(); ++i) out.push_back(field(depth));
    return out;
  }

 private:
  Field field(int depth) {
    if (++seen_ > kMaxFields) in_.fail();
    if (layout_ == Layout::kV1) {
      auto out = type(in_, depth);
      out.name = utf8_of(in_.take_utf16z());
      return out;
    }
    // The others say how long they are: what a later version adds at their end is skipped.
    const std::size_t size = layout_ == Layout::kV6 ? in_.read<std::uint16_t>()
                                                    : in_.read<std::uint32_t>() - std::size_t{4};
    const auto begin = in_.offset();
    if (size > in_.remaining()) in_.fail();
    if (!in_.ok()) return {};
    std::string name = layout_ == Layout::kV6 ? std::string{as_text(in_.take(in_.read_varuint()))}
                                              : utf8_of(in_.take_utf16z());
    auto out = type(in_, depth);
    out.name = std::move(name);
    const auto used = in_.offset() - begin;
    if (used > size)
      in_.fail();
    else
      in_.skip(size - used);
    return out;
  }

  Field type(ByteReader& in, int depth) {
    const auto code = layout_ == Layout::kV6 ? in.read<std::uint8_t>() : in.read<std::uint32_t>();
    Field out;
    if (depth > kMaxDepth || code > static_cast<unsigned>(TypeCode::kBool8)) in.fail();
    if (!in.ok()) return out;
    out.type = static_cast<TypeCode>(code);
    switch (out.type) {
      case TypeCode::kObject:
        out.children = fields(depth + 1);
        break;
      case TypeCode::kArray:
      case TypeCode::kFixedArray:
      case TypeCode::kRelLoc:
      case TypeCode::kDataLoc:
        if (layout_ == Layout::kV1) in.fail();
        if (in.ok()) out.children.push_back(type(in, depth + 1));
        if (out.type == TypeCode::kFixedArray) out.count = in.read<std::uint16_t>();
        break;
      case TypeCode::kNone:
        in.fail();
        break;
      default:
        break;
    }
    return out;
  }

  ByteReader& in_;
  Layout layout_;
  std::size_t seen_ = 0;
};

std::string read_text(ByteReader& in) { return std::string{as_text(in.take(in.read_varuint()))}; }

void read_options(ByteReader& in, EventType& type) {
  while (in.ok() && !in.at_end()) {
    switch (in.read<std::uint8_t>()) {
      case 1:
        type.opcode = in.read<std::uint8_t>();
        break;
      case 3:
        type.keywords = in.read<std::uint64_t>();
        break;
      case 4:
        type.message = read_text(in);
        break;
      case 5:
        type.description = read_text(in);
        break;
      case 6: {
        auto key = read_text(in);
        type.attributes.emplace_back(std::move(key), read_text(in));
        break;
      }
      case 7:
        type.provider_guid = in.read<Guid>();
        break;
      case 8:
        type.level = in.read<std::uint8_t>();
        break;
      case 9:
        type.version = in.read<std::uint8_t>();
        break;
      default:
        return;  // of a later version, and of unknown length: what follows cannot be read
    }
  }
}

Failure malformed(const EventType& type) {
  return fail(Errc::kCorrupt, "the fields of event {}/{} cannot be read", type.provider, type.id);
}

}  // namespace

Result<> TypeTable::declare_v5(Bytes declaration) {
  ByteReader in{declaration};
  const auto number = in.read<std::uint32_t>();
  const auto identity = declaration.subspan(in.offset());
  if (const auto* same = known(identity)) return bind(number, same), Result<>{};

  EventType type;
  type.provider = utf8_of(in.take_utf16z());
  type.id = in.read<std::uint32_t>();
  type.name = utf8_of(in.take_utf16z());
  type.keywords = in.read<std::uint64_t>();
  type.version = in.read<std::uint32_t>();
  type.level = static_cast<std::uint8_t>(in.read<std::uint32_t>());
  if (!in.ok()) return fail(Errc::kCorrupt, "metadata {} is truncated", number);

  auto fields = in.at_end() ? std::vector<Field>{} : FieldReader{in, Layout::kV1}.fields();
  while (in.ok() && !in.at_end()) {
    const auto size = in.read<std::uint32_t>();
    const auto kind = in.read<std::uint8_t>();
    ByteReader tag{in.take(size)};
    if (!in.ok()) break;
    if (kind == 1) type.opcode = tag.read<std::uint8_t>();
    if (kind == 2) fields = FieldReader{tag, Layout::kV2}.fields();
    if (!tag.ok()) in.fail();
  }
  const bool whole = in.ok();
  if (whole) type.fields = std::move(fields);
  auto broken = malformed(type);
  TRY(add(number, identity, std::move(type)));
  if (!whole) return broken;
  return {};
}

Result<> TypeTable::declare_v6(Bytes declaration) {
  ByteReader in{declaration};
  const auto number = static_cast<std::uint32_t>(in.read_varuint());
  const auto identity = declaration.subspan(in.offset());
  if (!in.ok() || number == 0) return fail(Errc::kCorrupt, "metadata number {} is none", number);
  if (const auto* same = known(identity)) return bind(number, same), Result<>{};

  EventType type;
  type.provider = read_text(in);
  type.id = static_cast<std::uint32_t>(in.read_varuint());
  type.name = read_text(in);
  if (!in.ok()) return fail(Errc::kCorrupt, "metadata {} is truncated", number);

  auto fields = FieldReader{in, Layout::kV6}.fields();
  ByteReader options{in.take(in.read<std::uint16_t>())};
  bool whole = in.ok();
  if (whole) {
    type.fields = std::move(fields);
    read_options(options, type);
    whole = options.ok();
  }
  auto broken = malformed(type);
  TRY(add(number, identity, std::move(type)));
  if (!whole) return broken;
  return {};
}

void TypeTable::forget_numbers() {
  flat_.clear();
  sparse_.clear();
}

const EventType* TypeTable::find_sparse(std::uint32_t number) const {
  const auto found = sparse_.find(number);
  return found == sparse_.end() ? nullptr : found->second;
}

const EventType* TypeTable::known(Bytes identity) const {
  const auto found = by_content_.find(std::string{as_text(identity)});
  return found == by_content_.end() ? nullptr : found->second;
}

Result<> TypeTable::add(std::uint32_t number, Bytes identity, EventType type) {
  if (types_.size() >= kMaxTypes)
    return fail(Errc::kCorrupt, "the trace declares more than {} kinds of events", kMaxTypes);
  if (bytes_ + identity.size() > kMaxBytes)
    return fail(Errc::kCorrupt, "the trace declares its events in more than {} bytes", kMaxBytes);
  bytes_ += identity.size();
  type.index = static_cast<std::uint32_t>(types_.size());
  types_.push_back(std::move(type));
  by_content_.emplace(as_text(identity), &types_.back());
  bind(number, &types_.back());
  return {};
}

void TypeTable::bind(std::uint32_t number, const EventType* type) {
  if (number >= kFlatNumbers) {
    sparse_[number] = type;
    return;
  }
  if (number >= flat_.size()) flat_.resize(number + std::size_t{1});
  flat_[number] = type;
}

}  // namespace clrscope::nettrace
