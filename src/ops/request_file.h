// The recording of a request profile: one .nettrace file with the requests and, where they can be
// had, CPU samples of the process.
//
// CPU samples are recorded beside, into a file without a name, and both are joined at the end.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "analyze/request_events.h"
#include "base/fd.h"
#include "nettrace/writer.h"
#include "ops/output_file.h"
#include "ops/target.h"

namespace clrscope::ops {

class RequestFile {
 public:
  // CPU samples are being taken when this returns, if they can be.
  static Result<std::unique_ptr<RequestFile>> create(const std::string& path, pid_t pid,
                                                     bool with_samples);
  RequestFile(const RequestFile&) = delete;
  RequestFile& operator=(const RequestFile&) = delete;
  ~RequestFile();

  Result<> write(const RequestBatch& batch) { return events_.write(batch); }
  // The file has its name when this returns.
  Result<> finish(const analyze::RequestProfile& profile);

  // After finish().
  std::uint64_t samples() const { return samples_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& no_samples() const { return no_samples_; }  // why there are none

 private:
  RequestFile(OutputFile output, UniqueFd requests, UniqueFd cpu, pid_t pid);
  void start_samples();
  void record_samples();
  void stop_samples();

  OutputFile output_;
  UniqueFd requests_;
  UniqueFd cpu_;
  pid_t pid_;
  UniqueFd stop_;
  std::uint64_t written_ = 0;  // of requests_
  std::uint64_t bytes_ = 0;
  nettrace::Writer writer_;
  analyze::RequestEventWriter events_;
  std::string no_samples_{};  // the thread's until it is joined
  std::uint64_t samples_ = 0;
  std::atomic<bool> sampling_ = false;
  std::atomic<bool> ended_ = false;
  std::jthread thread_{};  // last: joins first
};

}  // namespace clrscope::ops
