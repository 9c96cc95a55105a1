// A method body and its signatures: what is accepted is rewritten, and must come out as the same
// code.
//
// The first byte is the size of the method's signature, the second that of its locals; both follow,
// then the body. The corpus is made by hand, see tests/data/fuzz/il/.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "il/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope::il;
  if (size < 2 || size > 65536) return 0;
  const std::uint32_t signature_size = data[0], locals_size = data[1];
  if (size - 2 < signature_size + locals_size) return 0;
  MethodSignature signature;
  if (parse_method_signature(data + 2, signature_size, signature) != Reason::kNone) return 0;
  static std::vector<std::uint8_t> local_bytes(1024), out(1 << 20);
  static std::vector<std::uint32_t> map(65536);
  NewLocals locals;
  if (extend_locals(data + 2 + signature_size, locals_size, signature, local_bytes.data(), 1024,
                    locals) != Reason::kNone)
    return 0;
  const auto begin = 2 + signature_size + locals_size;
  // A copy of its own, so that a read past its end is seen.
  const std::vector<std::uint8_t> bytes(data + begin, data + size);
  Body body;
  if (parse_body(bytes.data(), static_cast<std::uint32_t>(bytes.size()), body) != Reason::kNone)
    return 0;
  (void)is_trivial(body);
  Layout layout;
  if (rewrite(body, signature, locals,
              {.id = 1,
               .gate = 2,
               .enter = 3,
               .leave = 4,
               .enter_token = 0x1100'0001,
               .leave_token = 0x1100'0002,
               .locals_token = 0x1100'0003},
              map.data(), static_cast<std::uint32_t>(map.size()), out.data(),
              static_cast<std::uint32_t>(out.size()), layout) != Reason::kNone)
    return 0;
  Body made;
  if (parse_body(out.data(), layout.size, made) != Reason::kNone || made.size != layout.size)
    std::abort();
  if (!compare(body, made, layout, signature.is_void).empty()) std::abort();
  (void)verify_rewritten(made, layout, signature.is_void, [](std::uint16_t, std::uint32_t) {
    return std::optional<StackEffect>{{0, 0}};
  });
  return 0;
}
