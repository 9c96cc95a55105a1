#include "wire/control.h"

namespace clrscope::wire {
namespace {

constexpr std::uint64_t kFixed = 16;

void copy(void* to, const void* from, std::uint64_t size) {
  for (std::uint64_t i = 0; i < size; ++i)
    static_cast<std::uint8_t*>(to)[i] = static_cast<const std::uint8_t*>(from)[i];
}

}  // namespace

bool is_request(const void* bytes, std::uint64_t size) {
  if (size != sizeof(Request)) return false;
  Request request;
  copy(&request, bytes, sizeof request);
  return request.magic == kControlMagic && request.protocol != 0;
}

bool is_reply(const void* bytes, std::uint64_t size, std::uint32_t id) {
  if (size < kFixed) return false;
  const auto reply = parse_reply(bytes, size);
  return reply.magic == kControlMagic && reply.id == id;
}

Reply parse_reply(const void* bytes, std::uint64_t size) {
  Reply reply{};
  copy(&reply, bytes, size < sizeof reply ? size : sizeof reply);
  return reply;
}

bool is_attach_data(const void* bytes, std::uint64_t size) {
  if (size != sizeof(AttachData)) return false;
  AttachData data;
  copy(&data, bytes, sizeof data);
  if (data.magic != kControlMagic || data.protocol != kProtocol || data.socket[0] != '/')
    return false;
  for (const char letter : data.socket)
    if (letter == 0) return true;
  return false;
}

}  // namespace clrscope::wire
