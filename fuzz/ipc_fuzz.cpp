// Every decoder of the diagnostic port, over bytes that claim to come from a runtime.
//
// The corpus are answers of .NET 8, 9 and 10, header included; tests/data/fuzz/ipc/.
#include <cstdint>

#include "ipc/app_name.h"
#include "ipc/frame.h"
#include "ipc/refusal.h"
#include "ipc/socket_folder.h"

namespace {

using namespace clrscope;
using namespace clrscope::ipc;

void decode_payload(Bytes payload) {
  (void)decode_process_info(payload);
  (void)decode_process_info2(payload);
  (void)decode_process_info3(payload);
  (void)decode_session_id(payload);
  (void)decode_environment(payload);
  (void)decode_environment_size(payload);
  if (const auto refusal = decode_refusal(payload))
    (void)error_of(kCreateCoreDump3, "fuzz", *refusal);
}

void decode_answer(Bytes bytes) {
  if (bytes.size() < kHeaderSize) return;
  const auto header = decode_header(bytes.first(kHeaderSize));
  if (!header) return;
  CHECK(header->payload_size <= kLargestPayload);
  (void)is_success(*header);
  const auto rest = bytes.subspan(kHeaderSize);
  if (rest.size() < header->payload_size) return;
  decode_payload(rest.first(header->payload_size));
  (void)decode_environment(rest.subspan(header->payload_size));  // the continuation
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  decode_answer(bytes);
  decode_payload(bytes);
  if (const auto runtime = decode_advertisement(bytes)) CHECK(size >= kAdvertisementSize);
  (void)parse_socket_name(as_text(bytes));
  const std::string text{as_text(bytes)};
  (void)runtime_version_of(text);
  (void)app_name(text, {text, text});
  return 0;
}
