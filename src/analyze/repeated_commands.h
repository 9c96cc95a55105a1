// Database commands that a program sends over and over within one unit of work: one request, one
// trace, one DbContext. "N+1 queries" are found by them.
//
// Equal means equal but for literals. What is kept grows with the commands of the trace, up to a
// limit.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/provider_reader.h"

namespace clrscope::analyze {

struct CommandsByWork {
  struct Key {
    std::string work;  // a trace id, or the id of a DbContext
    StringId text;
    StackId stack;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, std::vector<TraceTime>> sent;
  std::size_t commands = 0;
};

// A command with its place in the code.
struct RepeatedCommand {
  std::string text{};
  FrameId caller{};
  std::uint64_t units = 0;     // of work that sent it
  std::uint64_t commands = 0;  // all of them
  std::uint64_t most = 0;      // in quick succession, in one unit of work
};

class RepeatedCommands : public ProviderReader<CommandsByWork> {
 public:
  RepeatedCommands();

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    read_batch(reader, batch, [&](const Event& event) { on_event(reader, event); });
  }
  void end_of_trace(const nettrace::Reader& reader);

  const std::vector<RepeatedCommand>& ranked() const { return ranked_; }  // most repeated first

 private:
  void on_event(const nettrace::Reader& reader, const Event& event);

  StringTable texts_;
  std::vector<RepeatedCommand> ranked_;
};

// The command without its literals: "SELECT * FROM items WHERE id = ?".
std::string without_literals(std::string_view command);

}  // namespace clrscope::analyze
