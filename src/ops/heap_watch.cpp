#include "ops/heap_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "analyze/heap/finalizers.h"
#include "analyze/heap/growth.h"
#include "base/text.h"
#include "inspect/headroom.h"
#include "inspect/heap/heap.h"
#include "inspect/target.h"
#include "ops/async_stacks.h"
#include "ops/heap_budget.h"

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kLooks = 3;
constexpr milliseconds kMeasured{250};  // whether the process is busy
constexpr milliseconds kStep{100};
// A runtime that is just changing its types is copied again after a while: it does so for up to
// half a second when it opens the sessions of this examination.
constexpr int kMostCopies = 6;
constexpr milliseconds kNextCopy{200};
constexpr std::size_t kStrings = 20;
constexpr std::uint64_t kMostUnread = 50;  // one part of the heap in so many

std::string reason_of(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{}; {}", error.what, error.hint);
}

struct Look {
  HeapSnapshot heap{};
  inspect::TwinCost cost{};
  inspect::AsyncSnapshot async{};
};

// Threads that were stopped for a copy run for a moment before they wait again, on a busy machine
// only when it is their turn: a snapshot taken meanwhile would miss what they wait for. So those
// that waited before must be seen waiting once more.
class Sleepers {
 public:
  explicit Sleepers(pid_t pid) {
    auto process = inspect::open_process(pid);
    if (!process) return;
    process_ = *std::move(process);
    for_each([this](const auto& thread) {
      if (waits(thread)) asleep_.insert(thread.tid);
    });
  }

  void await() {
    constexpr milliseconds kLongest{1000}, kBetween{5};
    const auto until = TraceClock::now() + kLongest;
    while (!asleep_.empty() && TraceClock::now() < until) {
      std::this_thread::sleep_for(kBetween);
      std::set<pid_t> missing;
      for_each([&](const auto& thread) {
        if (!waits(thread) && asleep_.contains(thread.tid)) missing.insert(thread.tid);
      });
      asleep_ = std::move(missing);
    }
  }

 private:
  static bool waits(const inspect::OsThread& thread) {
    return thread.state == 'S' || thread.state == 'D';
  }
  template <class Do>
  void for_each(Do&& act) {
    if (!process_) return;
    const auto threads = process_->threads();
    if (threads) std::ranges::for_each(*threads, act);
  }

  std::unique_ptr<inspect::Target> process_;
  std::set<pid_t> asleep_;
};

nanoseconds thread_cpu() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + nanoseconds{used.tv_nsec};
}

Result<Look> look_once(pid_t pid, bool strings, std::mutex& stopping,
                       std::vector<TraceTime>& copies) {
  auto made = [&] {
    const std::lock_guard lock{stopping};
    Sleepers sleepers{pid};
    auto twin = inspect::make_twin(pid);
    sleepers.await();
    copies.push_back(TraceClock::now());
    return twin;
  }();
  auto twin = TRY(std::move(made));
  auto reader = TRY(inspect::open_runtime(*twin.target));
  auto heap = inspect::read_heap(*twin.target, *reader, {.equal_strings = strings});
  inspect::AsyncSnapshot async;
  if (heap) async = async_stacks_in(*twin.target, *reader, *heap);
  reader.reset();
  const auto cost = [&] {
    const std::lock_guard lock{stopping};
    Sleepers sleepers{pid};
    auto ended = twin.end();
    sleepers.await();
    copies.push_back(TraceClock::now());
    return ended;
  }();
  if (!heap) return fail(heap.error());
  TRY(inspect::check_names(*heap));
  TRY(analyze::check_graph(heap->graph));
  // A large array in the making is unread for a moment; more than a little makes counts wrong.
  std::uint64_t all = 0;
  for (const auto& segment : heap->segments) all += segment.end - segment.start;
  if (heap->unread_bytes > all / kMostUnread)
    return fail(Errc::kCorrupt, "{} of {} of the heap could not be read",
                format_bytes(heap->unread_bytes), format_bytes(all));
  return Look{*std::move(heap), cost, std::move(async)};
}

}  // namespace

HeapWatch::HeapWatch(pid_t pid, nanoseconds duration, Price price, std::mutex& stopping)
    : pid_(pid),
      duration_(duration),
      price_(price),
      stopping_now_(stopping),
      worker_([this](std::stop_token stop) { run(stop); }) {}

HeapWatch::~HeapWatch() { stopping_ = true; }

HeapWatch::Seen HeapWatch::take() {
  worker_.join();
  return std::move(seen_);
}

bool HeapWatch::wait_until(TraceTime time, const std::stop_token& stop) const {
  while (!stopping_ && !stop.stop_requested()) {
    const auto left = time - TraceClock::now();
    if (left.count() <= 0) return true;
    std::this_thread::sleep_for(std::min<nanoseconds>(left, kStep));
  }
  return false;
}

void HeapWatch::keep(inspect::AsyncSnapshot seen, TraceTime at) {
  auto& all = seen_.async;
  if (all.empty()) {
    first_async_ = at;
  } else {
    seen.over = at - first_async_;
    inspect::mark_unchanged(seen, all.front());
    all.resize(1);
  }
  all.push_back(std::move(seen));
}

void HeapWatch::run(std::stop_token stop) {
  const auto start = TraceClock::now();
  const BusyMeter meter{pid_};
  const auto price = inspect::twin_price(pid_);
  if (!price) {
    seen_.reason = reason_of(price.error());
    return;
  }
  HeapBudget budget{.duration = duration_,
                    .looks = kLooks,
                    .cpus = static_cast<double>(std::thread::hardware_concurrency())};
  const auto refused = [&](const LookCost& look) {
    if (price_ == Price::kAny) return false;
    const auto why = too_dear(budget, look);
    if (why) seen_.reason = *why;
    return why.has_value();
  };
  if (price_ == Price::kLittle && !wait_until(start + kMeasured, stop)) return;
  budget.busy = meter.busy();
  if (refused({price->most_pause, estimated_cpu(price->own)})) return;
  std::vector<analyze::HeapLook> looks;
  HeapSnapshot last;
  doctor::HeapFacts facts;
  while (std::ssize(looks) < kLooks) {
    if (!looks.empty()) {
      const auto due = duration_ * static_cast<int>(looks.size()) / static_cast<int>(kLooks - 1);
      if (!wait_until(start + due, stop)) break;
    }
    const auto now = TraceClock::now();
    const auto at = now - start;
    const auto used_before = thread_cpu();
    const bool is_last = std::ssize(looks) + 1 == kLooks;
    auto look = look_once(pid_, is_last, stopping_now_, seen_.copies);
    for (int copies = 1; !look && look.error().code == Errc::kTimeout && copies < kMostCopies;
         ++copies) {
      if (!wait_until(TraceClock::now() + kNextCopy, stop)) break;
      look = look_once(pid_, is_last, stopping_now_, seen_.copies);
    }
    if (!look) {
      if (looks.empty())
        seen_.reason = reason_of(look.error());
      else
        seen_.note = "the heap could not be read again: " + reason_of(look.error());
      break;
    }
    facts.paused += look->cost.pause;
    last = std::move(look->heap);
    if (auto due = analyze::look_at_finalizers(last, at))
      facts.finalizers.push_back(*std::move(due));
    keep(std::move(look->async), now);
    const analyze::HeapReport report{last};
    if (!report.has_references()) {
      seen_.reason = "the references between objects could not be read";
      return;
    }
    looks.push_back(analyze::look_at(report, at));
    if (looks.size() == 1 && refused({look->cost.at_most(), thread_cpu() - used_before})) return;
  }
  if (looks.empty()) return;
  if (std::ssize(looks) < kLooks && seen_.note.empty())
    seen_.note = "equal strings were not counted: it ended before the last look at the heap";
  const analyze::HeapReport report{last};
  facts.looks = looks.size();
  facts.objects = looks.back().objects;
  facts.bytes = looks.back().bytes;
  facts.growing = analyze::find_growth(looks, report, {});
  for (const auto& one : last.equal_strings) {
    facts.wasted_by_strings += one.wasted();
    if (facts.strings.size() < kStrings)
      facts.strings.push_back({one.value, one.length, one.count, one.bytes, one.wasted()});
  }
  seen_.facts = std::move(facts);
}

}  // namespace clrscope::ops
