// The worker: this very program, started again to run the runtime's data access library in a
// sandbox and answer its parent's questions.
//
// A program that opens DAC readers calls dac_worker_main() first thing in main(): when it was
// started as a worker that call does the work and gives its exit code. In a program that does not,
// open_dac_reader() fails instead of starting something else.
#pragma once

#include <optional>

namespace clrscope::inspect {

// The first argument that says so.
inline constexpr char kDacWorkerVerb[] = "_dac-worker";

// Nothing: not started as a worker, go on. Else the exit code of the worker.
std::optional<int> dac_worker_main(int argc, char** argv);
// Whether this program called it.
bool can_be_dac_worker();

namespace dac {
// Descriptors that the worker is born with.
inline constexpr int kChannelFd = 3;
inline constexpr int kLibraryFd = 4;
inline constexpr int kMemoryFd = 5;  // the target's memory, to read; /dev/null: ask the parent
}  // namespace dac

}  // namespace clrscope::inspect
