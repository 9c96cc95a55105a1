// The fleet server without its sockets: fleet_bench SPANS FOLDER
//
// Takes batches as they come from the network (compressed messages), stores them, and asks for the
// flame graph of all of them. Prints processor time, and what lies on disk. The data are those of
// an invented shop: 10 services, 20 spans per request, an hour.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>

#include "base/zstd_block.h"
#include "fleet/convert.h"
#include "store/store.h"
#include "store/test_batches.h"

namespace {

using namespace clrscope;

double cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

template <class T>
void copy_column(const std::vector<T>& from, std::size_t first, std::size_t count, auto* to) {
  to->Add(from.begin() + static_cast<std::ptrdiff_t>(first),
          from.begin() + static_cast<std::ptrdiff_t>(first + count));
}

std::string envelope_of(const store::Batch& batch) {
  fleet::v1::RequestBatch out;
  out.mutable_source()->set_host(batch.source.host);
  out.mutable_source()->set_service(batch.source.service);
  out.mutable_source()->set_instance(batch.source.instance);
  out.set_created_unix_ns(static_cast<std::uint64_t>(batch.created));
  for (const auto& name : batch.names) out.add_names(name);
  std::size_t span = 0;
  for (const auto& request : batch.requests) {
    auto& one = *out.add_requests();
    one.set_trace_id(std::string{request.trace_id.begin(), request.trace_id.end()});
    one.set_begin_unix_ns(static_cast<std::uint64_t>(request.begin));
    one.set_duration_ns(request.duration);
    one.set_running_ns(request.running);
    one.set_method(request.method);
    one.set_route(request.route);
    one.set_status(request.status);
    one.set_flags(request.flags);
    auto& spans = *one.mutable_spans();
    copy_column(batch.spans.method, span, request.spans, spans.mutable_method());
    copy_column(batch.spans.parent, span, request.spans, spans.mutable_parent());
    copy_column(batch.spans.begin, span, request.spans, spans.mutable_begin_ns());
    copy_column(batch.spans.duration, span, request.spans, spans.mutable_duration_ns());
    copy_column(batch.spans.self, span, request.spans, spans.mutable_self_ns());
    copy_column(batch.spans.thread, span, request.spans, spans.mutable_thread());
    span += request.spans;
  }
  fleet::v1::BatchEnvelope envelope;
  envelope.set_id(batch.id);
  envelope.set_batch_zstd(zstd_block(as_bytes(out.SerializeAsString()), 1));
  return envelope.SerializeAsString();
}

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 3;
  const auto wanted = std::strtoull(argv[1], nullptr, 10);
  const auto file = std::string{argv[2]} + "/bench.db";
  constexpr std::size_t kRequests = 500, kSpans = 20, kServices = 10, kAtOnce = 20;
  const auto batches = wanted / (kRequests * kSpans);
  constexpr std::int64_t kHour = 3'600'000'000'000;
  const auto start = wall_now().time_since_epoch().count() - kHour;
  auto store = store::open_store("sqlite:" + file, {.age = std::chrono::hours{24 * 365 * 100}});
  if (!store) return fmt::print(stderr, "{}\n", store.error().what), 1;
  double ingest = 0;
  std::uint64_t wire = 0;
  for (std::uint64_t i = 0; i < batches;) {
    std::vector<std::string> arrived;
    for (std::size_t k = 0; k < kAtOnce && i < batches; ++k, ++i)
      arrived.push_back(envelope_of(
          store::make_batch({.host = fmt::format("web-{}", i % 7),
                             .service = fmt::format("shop-{}", (i / kAtOnce) % kServices),
                             .number = i,
                             .requests = kRequests,
                             .spans = kSpans,
                             .begin = start + static_cast<std::int64_t>(i) * kHour /
                                                  static_cast<std::int64_t>(batches),
                             .step = 1'000})));
    const auto before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::vector<store::Batch> taken;
    for (const auto& bytes : arrived) {
      wire += bytes.size();
      fleet::v1::BatchEnvelope envelope;
      if (!envelope.ParseFromString(bytes)) return 1;
      taken.push_back(fleet::batch_of(envelope, 16 << 20).value());
    }
    const auto done = (*store)->add(taken, wall_now());
    if (!done) return fmt::print(stderr, "{}\n", done.error().what), 1;
    for (const auto& one : *done)
      if (one.outcome != store::Stored::Outcome::kStored) return 1;
    ingest += cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  const auto spans = static_cast<double>(batches * kRequests * kSpans);
  const auto ask = [&](const char* name, const store::FlameQuery& query) {
    double best = 1e9;
    std::uint64_t found = 0;
    for (int round = 0; round < 3; ++round) {
      const auto before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
      const auto flame = (*store)->flame(query).value();
      best = std::min(best, cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before);
      found = flame.spans;
    }
    fmt::print("{} {} ms\n{}_spans {} spans\n", name, best * 1e3, name, found);
  };
  fmt::print("ingest {} M/s\n", spans / ingest / 1e6);
  fmt::print("wire {} bytes/span\n", static_cast<double>(wire) / spans);
  ask("flame_service", {.selection = {.service = "shop-3"}});
  ask("flame_route", {.selection = {.service = "shop-3", .route = "GET /route/1"}});
  ask("flame_slowest", {.selection = {.service = "shop-3"}, .from_percentile = 99});
  const auto before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  const auto routes = (*store)->routes({.service = "shop-3"}, std::chrono::minutes{1}).value();
  fmt::print("routes {} ms\n", (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1e3);
  const auto last = store::test_trace(batches - 1, 3);
  const auto then = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  const auto found = (*store)->find(last).value();
  fmt::print("find {} ms\n", (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - then) * 1e3);
  store->reset();
  fmt::print("disk {} bytes/span\n", static_cast<double>(std::filesystem::file_size(file)) / spans);
  fmt::print("memory {} MB\n", peak_mb());
  return found.size() == 1 && routes.size() == 4 ? 0 : 1;
}
