#include "inspect/dac/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/io.h"

namespace clrscope::inspect::dac {
namespace {

constexpr std::size_t kHeader = 5;

Failure broken(std::string_view what) {
  return fail(Errc::kCorrupt, "the DAC worker's answer is broken: {}", what);
}

std::string take_text(ByteReader& in) {
  const auto size = in.read_varuint();
  if (size > kMostText) {
    in.fail();
    return {};
  }
  return std::string{as_text(in.take(static_cast<std::size_t>(size)))};
}

bool take_flag(ByteReader& in) { return in.read<std::uint8_t>() != 0; }

// A count, then that many; each takes at least a byte, so a count cannot ask for more memory than
// the answer has.
template <class Item, class Take>
Result<std::vector<Item>> take_list(Bytes answer, std::size_t most, std::string_view what,
                                    Take take) {
  ByteReader in{answer};
  const auto count = in.read_varuint();
  if (!in.ok() || count > most || count > in.remaining())
    return broken(fmt::format("{} {}", count, what));
  std::vector<Item> items;
  items.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) items.push_back(take(in));
  if (!in.ok() || !in.at_end()) return broken(what);
  return items;
}

RawMethod take_method(ByteReader& in) {
  RawMethod method{.found = take_flag(in)};
  if (!method.found) return method;
  method.type = take_text(in);
  method.name = take_text(in);
  method.arguments = take_text(in);
  method.full_name = take_text(in);
  method.module = take_text(in);
  method.token = in.read<std::uint32_t>();
  method.method_desc = in.read<std::uint64_t>();
  method.code_start = in.read<std::uint64_t>();
  method.code_size = in.read<std::uint64_t>();
  method.dynamic_object = in.read<std::uint64_t>();
  return method;
}

}  // namespace

Result<> send(int socket, Kind kind, Bytes body, const Deadline& deadline) {
  std::vector<std::uint8_t> message(kHeader + body.size());
  const auto size = static_cast<std::uint32_t>(body.size());
  std::memcpy(message.data(), &size, sizeof size);
  message[4] = static_cast<std::uint8_t>(kind);
  std::copy(body.begin(), body.end(), message.begin() + kHeader);
  for (std::size_t done = 0; done < message.size();) {
    const auto sent =
        ::send(socket, message.data() + done, message.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      done += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail(Errc::kGone, "the peer is away: {}", errno_text());
    pollfd waiting{socket, POLLOUT, 0};
    if (::poll(&waiting, 1, deadline.poll_timeout()) == 0)
      return fail(Errc::kTimeout, "the peer does not read");
  }
  return {};
}

Result<Message> receive(int socket, std::size_t most, const Deadline& deadline) {
  std::array<std::uint8_t, kHeader> header{};
  TRY(read_exact(socket, header, deadline));
  std::uint32_t size = 0;
  std::memcpy(&size, header.data(), sizeof size);
  if (size > most) return fail(Errc::kCorrupt, "a message of {} bytes", size);
  Message message{static_cast<Kind>(header[4]), std::vector<std::uint8_t>(size)};
  TRY(read_exact(socket, message.body, deadline));
  return message;
}

void put_text(ByteWriter& out, std::string_view text) {
  text = text.substr(0, kMostText);
  out.write_varuint(text.size());
  out.put(text);
}

void put(ByteWriter& out, const RuntimeThread& thread) {
  out.write(thread.address);
  out.write(thread.os_id);
  out.write(thread.managed_id);
  put_text(out, thread.name);
  for (const bool flag :
       {thread.background, thread.pool, thread.dead, thread.unstarted, thread.cooperative})
    out.write<std::uint8_t>(flag);
  put_text(out, thread.exception_type);
  out.write(thread.exception);
  out.write(thread.managed_object);
  out.write(thread.allocation_pointer);
  out.write(thread.allocation_limit);
}

void put(ByteWriter& out, const RawMethod& method) {
  out.write<std::uint8_t>(method.found);
  if (!method.found) return;
  put_text(out, method.type);
  put_text(out, method.name);
  put_text(out, method.arguments);
  put_text(out, method.full_name);
  put_text(out, method.module);
  out.write(method.token);
  out.write(method.method_desc);
  out.write(method.code_start);
  out.write(method.code_size);
  out.write(method.dynamic_object);
}

void put(ByteWriter& out, const TypeInfo& type) {
  out.write(type.method_table);
  put_text(out, type.name);
  put_text(out, type.base_name);
  put_text(out, type.module);
  out.write(type.base_size);
  out.write(type.component_size);
  out.write_varuint(type.fields.size());
  for (const auto& field : type.fields) {
    put_text(out, field.name);
    out.write(field.offset);
    out.write(field.element_type);
  }
}

void put(ByteWriter& out, const SyncBlocks& blocks) {
  out.write(blocks.unread);
  out.write_varuint(blocks.known.size());
  for (const auto& block : blocks.known) {
    out.write(block.object);
    out.write<std::uint8_t>(block.held);
    out.write(block.owner_managed_id);
    out.write(block.owner_os_id);
    out.write(block.recursion);
    out.write(block.waiters);
  }
}

void put(ByteWriter& out, const RawFrame& frame) {
  out.write(frame.pc);
  out.write(frame.sp);
  out.write<std::uint8_t>(frame.managed);
  put(out, frame.method);
  put_text(out, frame.runtime_name);
}

void put(ByteWriter& out, const RawStatic& field) {
  put_text(out, field.type);
  put_text(out, field.field);
  out.write(field.address);
}

Result<std::vector<RuntimeThread>> read_threads(Bytes answer) {
  return take_list<RuntimeThread>(answer, kMostThreads, "threads", [](ByteReader& in) {
    RuntimeThread thread;
    thread.address = in.read<std::uint64_t>();
    thread.os_id = in.read<std::uint32_t>();
    thread.managed_id = in.read<std::uint32_t>();
    thread.name = take_text(in);
    for (bool* const flag :
         {&thread.background, &thread.pool, &thread.dead, &thread.unstarted, &thread.cooperative})
      *flag = take_flag(in);
    thread.exception_type = take_text(in);
    thread.exception = in.read<std::uint64_t>();
    thread.managed_object = in.read<std::uint64_t>();
    thread.allocation_pointer = in.read<std::uint64_t>();
    thread.allocation_limit = in.read<std::uint64_t>();
    return thread;
  });
}

Result<std::vector<RawMethod>> read_methods(Bytes answer) {
  return take_list<RawMethod>(answer, kMostMethods, "methods", take_method);
}

Result<TypeInfo> read_type(Bytes answer) {
  ByteReader in{answer};
  TypeInfo type;
  type.method_table = in.read<std::uint64_t>();
  type.name = take_text(in);
  type.base_name = take_text(in);
  type.module = take_text(in);
  type.base_size = in.read<std::uint32_t>();
  type.component_size = in.read<std::uint32_t>();
  const auto count = in.read_varuint();
  if (!in.ok() || count > kMostFields || count > in.remaining())
    return broken(fmt::format("{} fields", count));
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    FieldInfo field{.name = take_text(in)};
    field.offset = in.read<std::uint32_t>();
    field.element_type = in.read<std::uint8_t>();
    type.fields.push_back(std::move(field));
  }
  if (!in.ok() || !in.at_end()) return broken("a type");
  return type;
}

Result<SyncBlocks> read_sync_blocks(Bytes answer) {
  ByteReader head{answer};
  SyncBlocks blocks{.unread = head.read<std::uint64_t>()};
  if (!head.ok()) return broken("sync blocks");
  const auto rest = answer.subspan(sizeof blocks.unread);
  blocks.known = TRY(take_list<SyncBlock>(rest, kMostSyncBlocks, "sync blocks", [](ByteReader& in) {
    SyncBlock block;
    block.object = in.read<std::uint64_t>();
    block.held = take_flag(in);
    block.owner_managed_id = in.read<std::uint32_t>();
    block.owner_os_id = in.read<std::uint32_t>();
    block.recursion = in.read<std::uint32_t>();
    block.waiters = in.read<std::uint32_t>();
    return block;
  }));
  return blocks;
}

Result<std::vector<RawFrame>> read_frames(Bytes answer) {
  return take_list<RawFrame>(answer, kMostFrames, "frames", [](ByteReader& in) {
    RawFrame frame;
    frame.pc = in.read<std::uint64_t>();
    frame.sp = in.read<std::uint64_t>();
    frame.managed = take_flag(in);
    frame.method = take_method(in);
    frame.runtime_name = take_text(in);
    return frame;
  });
}

Result<std::vector<RawStatic>> read_statics(Bytes answer) {
  return take_list<RawStatic>(answer, kMostStatics, "static fields", [](ByteReader& in) {
    RawStatic field{.type = take_text(in), .field = take_text(in)};
    field.address = in.read<std::uint64_t>();
    return field;
  });
}

Result<std::optional<std::uint32_t>> read_il_offset(Bytes answer) {
  ByteReader in{answer};
  const bool found = take_flag(in);
  const auto offset = in.read<std::uint32_t>();
  if (!in.ok() || !in.at_end()) return broken("an offset in IL");
  return found ? std::optional{offset} : std::nullopt;
}

std::string read_printable(Bytes answer) {
  std::string text{as_text(answer.first(std::min<std::size_t>(answer.size(), 500)))};
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return text;
}

}  // namespace clrscope::inspect::dac
