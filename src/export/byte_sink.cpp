#include "export/byte_sink.h"

#include "base/io.h"

namespace clrscope::exports {

ByteSink::ByteSink(int fd, Before before)
    : buffer_(std::make_unique<char[]>(kCapacity)), fd_(fd), before_(std::move(before)) {}

ByteSink::ByteSink(std::string& memory)
    : buffer_(std::make_unique<char[]>(kCapacity)), memory_(&memory) {}

ByteSink& ByteSink::write_large(std::string_view text) {
  flush();
  if (text.size() <= kCapacity) return write(text);
  pass_on(text);
  return *this;
}

void ByteSink::flush() {
  pass_on({buffer_.get(), used_});
  used_ = 0;
}

void ByteSink::pass_on(std::string_view text) {
  flushed_ += text.size();
  if (error_ || text.empty()) return;
  if (memory_) {
    memory_->append(text);
    return;
  }
  auto done = before_ ? before_(text.size()) : Result<>{};
  if (done) done = write_all(fd_, as_bytes(text));
  if (!done) error_ = std::move(done).error();
}

Result<> ByteSink::finish() {
  flush();
  if (error_) return fail(*error_);
  return {};
}

}  // namespace clrscope::exports
