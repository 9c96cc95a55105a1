#include "ipc/frame.h"

#include <algorithm>

namespace clrscope::ipc {
namespace {

constexpr std::uint8_t kServerSet = 0xff;
constexpr std::uint8_t kOk = 0x00;
constexpr std::uint8_t kError = 0xff;
constexpr std::string_view kAdvertiseMagic{"ADVR_V1\0", 8};

std::array<std::uint8_t, 16> read_guid(ByteReader& in) {
  return in.read<std::array<std::uint8_t, 16>>();
}

ProcessInfo read_process_info(ByteReader& in) {
  ProcessInfo info;
  info.pid = in.read<std::uint64_t>();
  info.cookie = read_guid(in);
  info.command_line = read_string(in);
  info.operating_system = read_string(in);
  info.architecture = read_string(in);
  return info;
}

void read_process_info2(ByteReader& in, ProcessInfo& info) {
  info.entry_assembly = read_string(in);
  info.runtime_version = read_string(in);
}

Result<ProcessInfo> checked(const ByteReader& in, ProcessInfo info) {
  if (!in.ok()) return fail(Errc::kCorrupt, "the answer to ProcessInfo is truncated");
  return info;
}

}  // namespace

Result<std::vector<std::uint8_t>> encode_frame(const Command& command, Bytes payload) {
  if (payload.size() > kLargestPayload)
    return fail(Errc::kUsage, "{} takes at most {} bytes, not {}", command.name, kLargestPayload,
                payload.size())
        .hint("use fewer providers, shorter arguments or shorter paths");
  ByteWriter out;
  out.put(kMagic);
  out.write(static_cast<std::uint16_t>(kHeaderSize + payload.size()));
  out.write(command.set);
  out.write(command.id);
  out.write(std::uint16_t{0});
  out.put(payload);
  return std::move(out).take();
}

Result<Header> decode_header(Bytes bytes) {
  ByteReader in{bytes};
  const auto magic = in.take(kMagic.size());
  const auto size = in.read<std::uint16_t>();
  Header header{.set = in.read<std::uint8_t>(), .id = in.read<std::uint8_t>()};
  in.skip(2);
  if (!in.ok())
    return fail(Errc::kCorrupt, "a frame header of {} bytes is too short", bytes.size());
  if (as_text(magic) != kMagic)
    return fail(Errc::kCorrupt, "the answer does not begin with DOTNET_IPC_V1")
        .hint("check that this is the socket of a .NET runtime");
  if (size < kHeaderSize)
    return fail(Errc::kCorrupt, "a frame of {} bytes is smaller than its header", size);
  header.payload_size = size - kHeaderSize;
  return header;
}

Result<bool> is_success(const Header& header) {
  if (header.set == kServerSet && header.id == kOk) return true;
  if (header.set == kServerSet && header.id == kError) return false;
  return fail(Errc::kCorrupt, "the answer has the unknown type 0x{:02x}{:02x}", header.set,
              header.id);
}

Result<Refusal> decode_refusal(Bytes payload) {
  ByteReader in{payload};
  Refusal refusal{.code = in.read<std::uint32_t>()};
  if (!in.ok()) return fail(Errc::kCorrupt, "an error answer of {} bytes", payload.size());
  if (!in.at_end()) refusal.text = read_string(in);  // words that are cut short do not matter
  return refusal;
}

void write_string(ByteWriter& out, std::string_view utf8) {
  if (utf8.empty()) return out.write(std::uint32_t{0});
  const auto units = utf16_of(utf8);
  out.write(static_cast<std::uint32_t>(units.size() + 1));
  for (const char16_t unit : units) out.write(unit);
  out.write(char16_t{0});
}

std::string read_string(ByteReader& in) {
  const auto units = in.read<std::uint32_t>();
  if (units > in.remaining() / 2) {
    in.fail();
    return {};
  }
  auto text = in.take(std::size_t{units} * 2);
  if (text.size() >= 2 && text[text.size() - 1] == 0 && text[text.size() - 2] == 0)
    text = text.first(text.size() - 2);
  return utf8_of(text);
}

Result<ProcessInfo> decode_process_info(Bytes payload) {
  ByteReader in{payload};
  auto info = read_process_info(in);
  return checked(in, std::move(info));
}

Result<ProcessInfo> decode_process_info2(Bytes payload) {
  ByteReader in{payload};
  auto info = read_process_info(in);
  read_process_info2(in, info);
  return checked(in, std::move(info));
}

Result<ProcessInfo> decode_process_info3(Bytes payload) {
  ByteReader in{payload};
  if (const auto version = in.read<std::uint32_t>(); in.ok() && version == 0)
    return fail(Errc::kCorrupt, "the answer to ProcessInfo3 has version 0");
  auto info = read_process_info(in);  // later versions only append
  read_process_info2(in, info);
  info.portable_rid = read_string(in);
  return checked(in, std::move(info));
}

Result<std::size_t> decode_environment_size(Bytes payload) {
  ByteReader in{payload};
  const auto size = in.read<std::uint32_t>();
  in.skip(2);  // reserved
  if (!in.ok())
    return fail(Errc::kCorrupt, "an environment answer of {} bytes is too short", payload.size());
  if (size > kLargestEnvironment)
    return fail(Errc::kCorrupt, "an environment of {} bytes is too large", size);
  return size;
}

Result<std::map<std::string, std::string>> decode_environment(Bytes block) {
  ByteReader in{block};
  std::map<std::string, std::string> environment;
  const auto count = in.read<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto entry = read_string(in);
    if (!in.ok()) break;
    const auto equals = entry.find('=', 1);  // a name may begin with '='
    if (equals == std::string::npos)
      environment.emplace(std::move(entry), "");
    else
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  if (!in.ok())
    return fail(Errc::kCorrupt, "an environment block of {} bytes is truncated", block.size());
  return environment;
}

Result<std::uint64_t> decode_session_id(Bytes payload) {
  ByteReader in{payload};
  const auto id = in.read<std::uint64_t>();
  if (!in.ok())
    return fail(Errc::kCorrupt, "a session id of {} bytes is too short", payload.size());
  return id;
}

Result<Advertisement> decode_advertisement(Bytes bytes) {
  ByteReader in{bytes};
  const auto magic = in.take(kAdvertiseMagic.size());
  Advertisement runtime;
  runtime.cookie = read_guid(in);
  runtime.pid = in.read<std::uint64_t>();
  in.skip(2);  // reserved
  if (!in.ok())
    return fail(Errc::kCorrupt, "an advertisement of {} bytes is too short", bytes.size());
  if (as_text(magic) != kAdvertiseMagic)
    return fail(Errc::kCorrupt, "an advertisement does not begin with ADVR_V1");
  return runtime;
}

}  // namespace clrscope::ipc
