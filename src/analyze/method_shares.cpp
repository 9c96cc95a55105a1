#include "analyze/method_shares.h"

#include <array>

namespace clrscope::analyze {

const Shape& shape_of(const MethodShare*) {
  using M = MethodShare;
  static const auto shape = describe<M>(
      "MethodShare", "samples of one method",
      {members_of<&M::place>(),
       member<&M::self>("self", Unit::kPercent, "share of samples with it on top of the stack"),
       member<&M::total>("total", Unit::kPercent, "share of samples with it anywhere in the stack"),
       member<&M::self_running>("selfRunning", Unit::kPercent, "part of self while running"),
       member<&M::total_running>("totalRunning", Unit::kPercent, "part of total while running"),
       member<&M::self_samples>("selfSamples", "samples with it on top of the stack"),
       member<&M::total_samples>("totalSamples", "samples with it anywhere in the stack")});
  return shape;
}

const Shape& shape_of(const KindShare*) {
  static const auto shape =
      describe<KindShare>("KindShare", "samples in one kind of code",
                          {member<&KindShare::kind>("kind", "whose code it is"),
                           member<&KindShare::self>("self", Unit::kPercent, "share of samples"),
                           member<&KindShare::samples>("samples", "number of samples")});
  return shape;
}

const Shape& shape_of(const ModuleShare*) {
  using M = ModuleShare;
  static const auto shape = describe<M>(
      "ModuleShare", "samples in one module",
      {member<&M::module>("module", "module without its extension; empty when unknown"),
       member<&M::self>("self", Unit::kPercent, "share of samples with it on top of the stack"),
       member<&M::total>("total", Unit::kPercent,
                         "share of samples with it anywhere in the stack")});
  return shape;
}

const Shape& shape_of(const ThreadShare*) {
  using T = ThreadShare;
  static const auto shape =
      describe<T>("ThreadShare", "samples of one thread",
                  {member<&T::pid>("pid", "process id"),
                   member<&T::thread>("osId", "operating system's thread id"),
                   member<&T::name>("name", "thread name"),
                   member<&T::self>("self", Unit::kPercent, "share of samples"),
                   member<&T::samples>("samples", "number of samples")});
  return shape;
}

const Shape& shape_of(const ProcessShare*) {
  using P = ProcessShare;
  static const auto shape =
      describe<P>("ProcessShare", "samples of one process",
                  {member<&P::pid>("pid", "process id"), member<&P::name>("name", "process name"),
                   member<&P::self>("self", Unit::kPercent, "share of samples"),
                   member<&P::samples>("samples", "number of samples")});
  return shape;
}

std::span<const std::string_view> names_of(StateFrom) {
  static constexpr std::array<std::string_view, 4> kNames{"sampler", "topOfStack", "kernel",
                                                          "agent"};
  return kNames;
}

const Shape& shape_of(const MethodShares*) {
  using S = MethodShares;
  static const auto shape = describe<S>(
      "MethodsReport", "methods by their share of samples",
      {member<&S::samples>("samples", "number of samples"),
       member<&S::running>("running", "samples of running threads"),
       member<&S::waiting>("waiting", "samples of waiting threads"),
       member<&S::idle_samples>("idleSamples", "samples of idle CPUs, not counted above"),
       member<&S::without_stack>("samplesWithoutStack", "samples without a stack"),
       member<&S::state_from>("stateFrom", "source of the running or waiting state"),
       member<&S::duration>("durationMs", "duration of the trace"),
       member<&S::sampling>("samplingMs", "CPU time between two samples"),
       member<&S::cpus_busy>("cpusBusy", "average number of busy CPUs"),
       member<&S::methods>("methods", "every method sampled, the largest share first"),
       member<&S::by_kind>("byKind", "samples by kind of code"),
       member<&S::by_module>("byModule", "samples by module"),
       member<&S::by_thread>("byThread", "samples by thread"),
       member<&S::by_process>("byProcess", "samples by process")});
  return shape;
}

}  // namespace clrscope::analyze
