// A .NET runtime as seen from its diagnostic socket: a real unix socket, the real frames, and every
// kind of nonsense a broken or hostile peer may speak.
//
// Knows no command until told: what it was not told about it refuses as unknown, as an old runtime
// does. Tell it everything before the first connection, or between two commands.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/guarded.h"

namespace clrscope::fakes {

enum class Manners {
  kProper,
  kOneBytePieces,  // right, but a byte at a time
  kGarbage,        // bytes that are no frame
  kHalfHeader,     // and then the end
  kHalfPayload,    // and then the end
  kStalls,         // half a header and then silence
  kNeverAnswers,
  kClosesAtOnce,
  kHugeSize,    // announces 65,535 bytes and sends four
  kTinySize,    // announces less than a header
  kWrongMagic,  // of a protocol version to come
  kStrangeKind  // neither success nor error
};

class FakeRuntime {
 public:
  using CommandId = std::pair<std::uint8_t, std::uint8_t>;  // set, id
  struct Request {
    CommandId command;
    std::vector<std::uint8_t> payload;
    std::vector<std::uint8_t> frame;  // header and payload
  };

  FakeRuntime();
  ~FakeRuntime();
  FakeRuntime(const FakeRuntime&) = delete;
  FakeRuntime& operator=(const FakeRuntime&) = delete;

  void be(Manners manners);
  // Answers the command with that payload, and then sends `continuation` as it is.
  void answer(CommandId command, std::vector<std::uint8_t> payload,
              std::vector<std::uint8_t> continuation = {});
  void refuse(CommandId command, std::uint32_t code, const std::string& text = {});

  const std::string& path() const { return path_; }
  std::vector<Request> requests() const;  // all that were understood, in order

  // The other direction: connects to a listener as a runtime does and advertises itself.
  static UniqueFd connect_to(const std::string& path);
  static std::vector<std::uint8_t> advertisement(const std::array<std::uint8_t, 16>& cookie,
                                                 std::uint64_t pid);
  // Reads one request from a connection and answers it by the same rules. False: there was none.
  bool serve(UniqueFd connection);

 private:
  struct Answer {
    std::uint8_t kind = 0;  // 0x00 success, 0xff refusal
    std::vector<std::uint8_t> payload;
    std::vector<std::uint8_t> continuation;
  };
  struct State {
    Manners manners = Manners::kProper;
    std::map<CommandId, Answer> answers;
    std::vector<Request> requests;
    std::vector<UniqueFd> silent;  // connections that will never be answered
  };

  void run(const std::stop_token& stop);

  std::string folder_;
  std::string path_;
  UniqueFd listener_;
  UniqueFd wake_;
  Guarded<State> state_;
  std::jthread thread_;  // last: the first to stop
};

}  // namespace clrscope::fakes
