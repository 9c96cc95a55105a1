// The bytes of the diagnostic port: frames, strings and payloads, both ways.
//
// Does no I/O. Everything decoded here comes from a peer that may lie: a size is checked against
// the bytes that are there before anything is kept. Specification: docs/formats/ipc.md
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ipc/commands.h"
#include "ipc/endpoint.h"

namespace clrscope::ipc {

struct Command {
  std::uint8_t set;
  std::uint8_t id;
  const char* name;
};

constexpr Command kCreateCoreDump{1, 1, "CreateCoreDump"};
constexpr Command kCreateCoreDump2{1, 2, "CreateCoreDump2"};
constexpr Command kCreateCoreDump3{1, 3, "CreateCoreDump3"};
constexpr Command kStopTracing{2, 1, "StopTracing"};
constexpr Command kCollectTracing{2, 2, "CollectTracing"};
constexpr Command kCollectTracing2{2, 3, "CollectTracing2"};
constexpr Command kCollectTracing3{2, 4, "CollectTracing3"};
constexpr Command kCollectTracing4{2, 5, "CollectTracing4"};
constexpr Command kCollectTracing5{2, 6, "CollectTracing5"};
constexpr Command kAttachProfiler{3, 1, "AttachProfiler"};
constexpr Command kStartupProfiler{3, 2, "StartupProfiler"};
constexpr Command kProcessInfo{4, 0, "ProcessInfo"};
constexpr Command kResumeRuntime{4, 1, "ResumeRuntime"};
constexpr Command kProcessEnvironment{4, 2, "ProcessEnvironment"};
constexpr Command kSetEnvironmentVariable{4, 3, "SetEnvironmentVariable"};
constexpr Command kProcessInfo2{4, 4, "ProcessInfo2"};
constexpr Command kEnablePerfMap{4, 5, "EnablePerfMap"};
constexpr Command kDisablePerfMap{4, 6, "DisablePerfMap"};
constexpr Command kApplyStartupHook{4, 7, "ApplyStartupHook"};
constexpr Command kProcessInfo3{4, 8, "ProcessInfo3"};

constexpr std::string_view kMagic{"DOTNET_IPC_V1\0", 14};
constexpr std::size_t kHeaderSize = 20;
constexpr std::size_t kLargestPayload = 0xffff - kHeaderSize;
constexpr std::size_t kAdvertisementSize = 34;
constexpr std::size_t kLargestEnvironment = 64 << 20;

// Header and payload; a payload that does not fit a frame is an error.
Result<std::vector<std::uint8_t>> encode_frame(const Command& command, Bytes payload);

struct Header {
  std::uint8_t set = 0;
  std::uint8_t id = 0;
  std::size_t payload_size = 0;  // at most kLargestPayload
};
Result<Header> decode_header(Bytes bytes);

// A header that answers a request: true for success, false for a refusal, an Error for neither.
Result<bool> is_success(const Header& header);

// What the runtime says when it refuses: an HRESULT and, from CreateCoreDump3, words.
struct Refusal {
  std::uint32_t code = 0;
  std::string text{};
};
Result<Refusal> decode_refusal(Bytes payload);

// A string of the port: u32 count of UTF-16 units with the final zero, then these. Empty: count 0.
void write_string(ByteWriter& out, std::string_view utf8);
// Fails the reader when the string runs past its end.
std::string read_string(ByteReader& in);

Result<ProcessInfo> decode_process_info(Bytes payload);
Result<ProcessInfo> decode_process_info2(Bytes payload);
Result<ProcessInfo> decode_process_info3(Bytes payload);

// The frame of the answer announces the size of the block that follows it.
Result<std::size_t> decode_environment_size(Bytes payload);
Result<std::map<std::string, std::string>> decode_environment(Bytes block);

Result<std::uint64_t> decode_session_id(Bytes payload);

Result<Advertisement> decode_advertisement(Bytes bytes);

// The payload of CollectTracing 1 to 5; what that form cannot express is an Error that says which
// request it was.
Result<std::vector<std::uint8_t>> encode_collect_tracing(int form, const SessionConfig& config);

}  // namespace clrscope::ipc
