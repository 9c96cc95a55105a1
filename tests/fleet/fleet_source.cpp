// Writes frames of invented requests to stdout, as clrscope does for the relay; says what it wrote
// on stderr.
//
//   fleet_source HOST SERVICE BATCHES REQUESTS SPANS [wait] [version=VERSION]
//
// wait: each batch waits for a line on stdin. The version is 1.0 by default. Trace ids are the
// batch and the request in hexadecimal.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/io.h"
#include "uplink/batch_encoder.h"
#include "uplink/frame.h"

namespace {

using namespace clrscope;
using std::chrono::microseconds;

RequestTrace make_request(std::uint64_t batch, std::uint64_t number, std::size_t spans,
                          TraceTime end) {
  RequestTrace request{.number = number + 1,
                       .method = number % 5 == 4 ? "POST" : "GET",
                       .route = number % 3 == 0 ? "/orders/{id}" : "/stock",
                       .path = number % 3 == 0 ? "/orders/17" : "/stock",
                       .status = static_cast<std::uint16_t>(number % 20 == 19 ? 500 : 200),
                       .sampled = true};
  for (std::size_t i = 0; i < 8; ++i) {
    request.trace_id[i] = static_cast<std::uint8_t>(batch >> (8 * (7 - i)));
    request.trace_id[8 + i] = static_cast<std::uint8_t>(number >> (8 * (7 - i)));
  }
  // Calls nest: each takes 100 us of its own before and after the call it makes; the second is
  // async and waits a millisecond.
  const auto length = microseconds{200} * spans + microseconds{1000};
  request.end = end;
  request.begin = end - length;
  for (std::size_t i = 0; i < spans; ++i) {
    RequestSpan span{.id = i + 1,
                     .parent = i,
                     .method = static_cast<std::uint32_t>(i % 4),
                     .begin = request.begin + microseconds{100} * i,
                     .end = request.end - microseconds{100} * i,
                     .thread = 11};
    span.is_async = i < 2;
    if (span.is_async) {
      const auto resumed = span.end - microseconds{100} * (spans - i);
      span.steps = {{span.begin, resumed - microseconds{1000}, 11}, {resumed, span.end, 12}};
    }
    request.spans.push_back(std::move(span));
  }
  // The innermost call is sampled, and the outermost after it has resumed.
  const auto& inner = request.spans.back();
  request.samples = {{inner.begin + microseconds{10}, inner.thread, 2, microseconds{10'000}},
                     {request.end - microseconds{10}, 12, 1, microseconds{10'000}}};
  request.running = microseconds{200} * spans;
  request.waiting = microseconds{1000};
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(
        stderr,
        "usage: fleet_source HOST SERVICE BATCHES REQUESTS SPANS [wait] [version=VERSION]\n");
    return 3;
  }
  const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  std::string version = "1.0";
  bool waits = false;
  for (const std::string_view word : std::span{argv, static_cast<std::size_t>(argc)}.subspan(6)) {
    if (word.starts_with("version=")) version = word.substr(8);
    waits = waits || word == "wait";
  }
  uplink::BatchEncoder encoder{{.host = argv[1],
                                .service = argv[2],
                                .version = version,
                                .instance = uplink::new_instance(),
                                .pid = static_cast<std::uint32_t>(::getpid()),
                                .runtime = ".NET 10.0.0",
                                .relay_version = "test"}};
  RequestBatch batch{.methods = {"Shop.Orders.PlaceAsync", "Shop.Stock.ReserveAsync",
                                 "Shop.Price.Of", "Shop.Tax.Rate"},
                     .stacks = {{.parent = 0, .frame = 0}, {.parent = 1, .frame = 1}},
                     .frames = {"Shop.Program.Main()", "Shop.Tax.Rate(System.Int32)"}};
  for (std::uint64_t i = 0; i < number(3); ++i) {
    std::string line;
    if (waits && !std::getline(std::cin, line)) break;
    batch.requests.clear();
    for (std::uint64_t r = 0; r < number(4); ++r)
      batch.requests.push_back(make_request(i, r, number(5), TraceClock::now()));
    const uplink::Recording recording{.seen = 4 * number(4), .sampled = number(4)};
    for (const auto& bytes :
         encoder.encode(batch, uplink::ClockOffset::now(), recording, wall_now()))
      if (!write_all(STDOUT_FILENO, as_bytes(uplink::frame_of(uplink::FrameKind::kBatch, bytes)))) {
        fmt::print(stderr, "{{\"requests\":{},\"spans\":{},\"samples\":{},\"broken\":true}}\n",
                   encoder.written_requests(), encoder.written_spans(), encoder.written_samples());
        return 2;
      }
  }
  fmt::print(stderr, "{{\"requests\":{},\"spans\":{},\"samples\":{}}}\n",
             encoder.written_requests(), encoder.written_spans(), encoder.written_samples());
  return 0;
}
