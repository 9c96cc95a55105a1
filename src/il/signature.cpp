#include "il/signature.h"

namespace clrscope::il {
namespace {

constexpr int kDeepestType = 32;
constexpr std::uint32_t kMostLocals = 0xfff0;
constexpr std::uint8_t kVoid = 0x01, kLocals = 0x07, kInt64 = 0x0a;

class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::uint32_t size) : at_(bytes), end_(bytes + size) {}

  bool ok() const { return ok_; }
  const std::uint8_t* at() const { return at_; }
  std::uint8_t peek() const { return at_ < end_ ? *at_ : 0; }
  std::uint8_t byte() {
    if (at_ < end_) return *at_++;
    ok_ = false;
    return 0;
  }
  std::uint32_t number() {
    const std::uint32_t first = byte();
    if ((first & 0x80) == 0) return first;
    if ((first & 0xc0) == 0x80) return (first & 0x3f) << 8 | byte();
    if ((first & 0xe0) != 0xc0) return ok_ = false, 0;
    std::uint32_t value = first & 0x1f;
    for (int i = 0; i < 3; ++i) value = value << 8 | byte();
    return value;
  }
  void fail() { ok_ = false; }

  void skip_modifiers() {
    while (ok_ && (peek() == 0x1f || peek() == 0x20)) {
      (void)byte();
      (void)number();
    }
  }

  void skip_type(int depth) {
    if (depth > kDeepestType) return fail();
    skip_modifiers();
    const auto kind = byte();
    if (!ok_) return;
    if ((kind >= 0x01 && kind <= 0x0e) || kind == 0x16 || kind == 0x18 || kind == 0x19 ||
        kind == 0x1c)
      return;
    switch (kind) {
      case 0x0f:  // pointer
      case 0x10:  // by reference
      case 0x1d:  // array of one dimension
      case 0x45:  // pinned
        return skip_type(depth + 1);
      case 0x11:  // value type
      case 0x12:  // class
      case 0x13:  // type parameter of the type
      case 0x1e:  // and of the method
        return (void)number();
      case 0x14:
        return skip_array(depth);
      case 0x15:
        return skip_instance(depth);
      case 0x1b:
        return skip_method(depth);
      default:
        return fail();
    }
  }

 private:
  void skip_array(int depth) {
    skip_type(depth + 1);
    (void)number();  // rank
    for (int part = 0; part < 2; ++part) {
      const auto count = number();
      for (std::uint32_t i = 0; i < count && ok_; ++i) (void)number();
    }
  }
  void skip_instance(int depth) {
    (void)byte();
    (void)number();
    const auto count = number();
    for (std::uint32_t i = 0; i < count && ok_; ++i) skip_type(depth + 1);
  }
  void skip_method(int depth) {
    if ((byte() & 0x10) != 0) (void)number();
    const auto count = number();
    for (std::uint32_t i = 0; i <= count && ok_; ++i) {
      if (peek() == 0x41) (void)byte();  // sentinel
      skip_type(depth + 1);
    }
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

std::uint32_t put_number(std::uint8_t* out, std::uint32_t value) {
  if (value < 0x80) return out[0] = static_cast<std::uint8_t>(value), 1;
  if (value < 0x4000) {
    out[0] = static_cast<std::uint8_t>(0x80 | value >> 8);
    out[1] = static_cast<std::uint8_t>(value);
    return 2;
  }
  out[0] = static_cast<std::uint8_t>(0xc0 | value >> 24);
  for (int i = 1; i < 4; ++i) out[i] = static_cast<std::uint8_t>(value >> (24 - i * 8));
  return 4;
}

}  // namespace

Reason parse_method_signature(const std::uint8_t* bytes, std::uint32_t size, MethodSignature& out) {
  out = {};
  Reader in{bytes, size};
  const auto convention = in.byte();
  constexpr std::uint8_t kGeneric = 0x10, kHasThis = 0x20, kKind = 0x0f, kVarArgs = 5;
  if (!in.ok()) return Reason::kSignature;
  if ((convention & kKind) == kVarArgs) return Reason::kArgList;
  if ((convention & kKind) != 0) return Reason::kSignature;
  if ((convention & kGeneric) != 0) (void)in.number();
  out.has_this = (convention & kHasThis) != 0;
  out.parameters = in.number();
  in.skip_modifiers();
  out.type = in.at();
  out.is_void = in.peek() == kVoid;
  in.skip_type(0);
  out.type_size = static_cast<std::uint32_t>(in.at() - out.type);
  return in.ok() ? Reason::kNone : Reason::kSignature;
}

Reason extend_locals(const std::uint8_t* old, std::uint32_t old_size,
                     const MethodSignature& signature, std::uint8_t* out, std::uint32_t capacity,
                     NewLocals& locals) {
  locals = {};
  Reader in{old, old_size};
  std::uint32_t count = 0;
  if (old_size != 0) {
    if (in.byte() != kLocals) return Reason::kSignature;
    count = in.number();
    if (!in.ok()) return Reason::kSignature;
  }
  const std::uint32_t rest =
      old_size == 0 ? 0 : old_size - static_cast<std::uint32_t>(in.at() - old);
  if (count > kMostLocals) return Reason::kTooLarge;
  if (capacity < 8 || rest > capacity - 8 || signature.type_size > capacity - 8 - rest)
    return Reason::kTooLarge;
  std::uint32_t at = 0;
  const auto copy = [&](const std::uint8_t* from, std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) out[at++] = from[i];
  };
  out[at++] = kLocals;
  at += put_number(out + at, count + (signature.is_void ? 2 : 3));
  copy(in.at(), rest);
  if (!signature.is_void) {
    locals.result = count++;
    copy(signature.type, signature.type_size);
  }
  out[at++] = kInt64;
  out[at++] = kInt64;
  locals.start = count;
  locals.saved = count + 1;
  locals.size = at;
  return Reason::kNone;
}

}  // namespace clrscope::il
