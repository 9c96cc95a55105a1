// The names of code that was compiled ahead of time, as its image has them: for what no event of
// the runtime names. Those are calls of native code that were compiled ahead of time too, the
// pieces through which calls go whose target is not known yet, and all methods of a process that
// ended before it told them.
//
// Also which IL that code came from, so that a recording can do without the image.
//
// Instances of generic methods have no names here: the image tells them by what they are made of.
// Reads files that may be hostile. One belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "symbols/metadata.h"
#include "symbols/ready_to_run.h"

namespace clrscope {

class ReadyToRunNames {
 public:
  enum class Which : std::uint8_t {
    kUntold,  // what the runtime's events leave out
    kAll,
  };
  struct Function {
    std::uint64_t start = 0;  // relative to the image's beginning
    std::uint64_t end = 0;    // the first address behind it
    std::string name;         // as symbols/method_name.h describes it, or "[stub: …]"
  };

  // Fails when it is no such image.
  static Result<ReadyToRunNames> open(const std::string& path);

  std::optional<Function> find(std::uint64_t address, Which which);

  struct Lines {
    std::uint64_t start = 0;  // of the method, relative to the image's beginning
    IlMap map;
  };
  // Of the method that the address lies in, also of instances of generic ones.
  std::optional<Lines> lines(std::uint64_t address) const;
  std::size_t memory_bytes() const {
    return starts_.capacity() * sizeof(starts_[0]) + image_.copied_bytes();
  }
  // Nothing is asked for a while: see NativeFile.
  void rest() const { image_.rest(); }

 private:
  ReadyToRunNames(ReadyToRunImage image, Metadata metadata)
      : image_(std::move(image)), metadata_(std::move(metadata)) {}
  // The method that begins with that function; 0 when none does, or a generic one.
  std::uint32_t token_of(std::uint32_t function);
  std::uint32_t token_around(std::uint32_t function);
  std::string name_of(std::uint32_t token);

  ReadyToRunImage image_;
  Metadata metadata_;                                            // looks into image_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> starts_;  // function, token; made when asked
  bool made_ = false;
};

}  // namespace clrscope
