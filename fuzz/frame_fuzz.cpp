// Frames between clrscope and the relay, in pieces of any size: the same bytes must give the same
// frames however they were cut.
//
// The corpus are frames, whole and damaged; tests/data/fuzz/frame/.
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "uplink/frame.h"

namespace {

using namespace clrscope;
using namespace clrscope::uplink;

struct FramesRead {
  std::vector<std::string> payloads;
  std::uint64_t damaged = 0;
  friend bool operator==(const FramesRead&, const FramesRead&) = default;
};

FramesRead read_frames(std::string_view bytes, std::size_t piece) {
  FrameReader reader;
  FramesRead read;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto frame = reader.next()) {
      CHECK(frame->payload.size() <= kLongestFrame);
      read.payloads.push_back(std::move(frame->payload));
    }
    CHECK(reader.waiting() <= kFrameHeader + kLongestFrame + piece);
  }
  read.damaged = reader.damaged();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = as_text(Bytes{data, size});
  const auto whole = read_frames(text, size + 1);
  CHECK(whole == read_frames(text, 1));
  CHECK(whole == read_frames(text, 13));
  // What was read is what was written.
  std::string again;
  for (const auto& payload : whole.payloads) again += frame_of(FrameKind::kBatch, payload);
  CHECK(read_frames(again, 7).payloads == whole.payloads);
  return 0;
}
