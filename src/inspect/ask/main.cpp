// ask_runtime PID|CORE [contract|dac|time]: answers questions about a runtime, one line of JSON
// each; for tests that compare the readers with each other and with what a program says of itself.
//
//   threads, locks, sources, type 0xTABLE, object 0xADDRESS, method 0xPC, frames OSID, and (between
//   tabs) named TYPE METHOD SIGNATURE: how the names in the runtime's events are shown
// ask_runtime PID damage ROUNDS: asks everything while the memory that is read is damaged at
// random; it must end, never in a crash, and not take more than 4 GB of memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "inspect/dac/worker.h"
#include "inspect/event_sources.h"
#include "inspect/runtime_reader.h"
#include "symbols/method_name.h"

namespace {

using namespace clrscope;
using namespace clrscope::inspect;

void write_error(JsonWriter& out, const Error& error) {
  out.begin_object().member("error", error.what).end_object();
}

void write_threads(JsonWriter& out, RuntimeReader& reader) {
  const auto threads = reader.threads();
  if (!threads) return write_error(out, threads.error());
  out.begin_array();
  for (const auto& one : *threads)
    out.begin_object()
        .member("address", one.address)
        .member("osId", one.os_id)
        .member("managedId", one.managed_id)
        .member("name", one.name)
        .member("background", one.background)
        .member("pool", one.pool)
        .member("dead", one.dead)
        .member("unstarted", one.unstarted)
        .member("cooperative", one.cooperative)
        .member("exception", one.exception_type)
        .member("object", one.managed_object)
        .end_object();
  out.end_array();
}

void write_locks(JsonWriter& out, RuntimeReader& reader) {
  const auto locks = reader.sync_blocks();
  if (!locks) return write_error(out, locks.error());
  out.begin_array();
  for (const auto& one : locks->known)
    out.begin_object()
        .member("object", one.object)
        .member("held", one.held)
        .member("ownerManagedId", one.owner_managed_id)
        .member("ownerOsId", one.owner_os_id)
        .member("recursion", one.recursion)
        .member("waiters", one.waiters)
        .end_object();
  out.end_array();
}

void write_sources(JsonWriter& out, RuntimeReader& reader, Target& target) {
  const auto sources = list_event_sources(target, reader);
  if (!sources) return write_error(out, sources.error());
  out.begin_object().key("names").begin_array();
  for (const auto& name : sources->names) out.value(name);
  out.end_array().member("unread", sources->unread).end_object();
}

void write_type(JsonWriter& out, RuntimeReader& reader, std::uint64_t table) {
  const auto type = reader.type_of_table(table);
  if (!type) return write_error(out, type.error());
  out.begin_object()
      .member("name", type->name)
      .member("base", type->base_name)
      .member("baseSize", type->base_size)
      .member("componentSize", type->component_size)
      .key("fields")
      .begin_array();
  for (const auto& field : type->fields)
    out.begin_object()
        .member("name", field.name)
        .member("offset", field.offset)
        .member("type", field.element_type)
        .end_object();
  out.end_array().end_object();
}

void write_method(JsonWriter& out, RuntimeReader& reader, std::uint64_t pc) {
  const auto method = reader.method_at(pc);
  if (!method) return write_error(out, method.error());
  out.begin_object()
      .member("name", method->name)
      .member("module", method->module)
      .member("token", method->token)
      .member("start", method->code_start)
      .member("size", method->code_size)
      .member("unwinds", reader.unwind_rule(pc).has_value());
  if (const auto il = reader.il_offset(*method, pc)) out.member("il", *il);
  out.end_object();
}

void write_frames(JsonWriter& out, RuntimeReader& reader, Target& target, std::uint64_t os_id) {
  const auto threads = reader.threads();
  const auto kernel = target.threads();
  if (!threads || !kernel) return write_error(out, threads ? kernel.error() : threads.error());
  for (const auto& one : *threads) {
    if (one.os_id != os_id) continue;
    OsThread os;
    for (const auto& thread : *kernel)
      if (static_cast<std::uint64_t>(thread.namespace_tid) == os_id) os = thread;
    const auto frames = reader.frames(one, os);
    if (!frames) return write_error(out, frames.error());
    out.begin_array();
    for (const auto& frame : *frames)
      out.begin_object()
          .member("pc", frame.pc)
          .member("sp", frame.sp)
          .member("method", frame.method)
          .end_object();
    out.end_array();
    return;
  }
  write_error(out, {Errc::kNotFound, "no such thread"});
}

void answer(JsonWriter& out, RuntimeReader& reader, Target& target, const std::string& question) {
  if (const auto parts = split(question, '\t'); parts.size() == 4)
    return void(out.value(method_name(parts[1], parts[2], parts[3])));
  const auto words = split(question, ' ');
  const auto number = words.size() > 1 ? parse_number(words[1]).value_or(0) : 0;
  if (words[0] == "threads") return write_threads(out, reader);
  if (words[0] == "locks") return write_locks(out, reader);
  if (words[0] == "sources") return write_sources(out, reader, target);
  if (words[0] == "type") return write_type(out, reader, number);
  if (words[0] == "method") return write_method(out, reader, number);
  if (words[0] == "frames") return write_frames(out, reader, target, number);
  if (words[0] == "object") {
    const auto table = Memory{target.memory()}.pointer(number);
    return write_type(out, reader, table.value_or(0) & ~std::uint64_t{7});
  }
  write_error(out, {Errc::kUsage, "unknown question"});
}

// Memory as it is, but for some bytes of some pages.
class DamagedTarget final : public Target, public MemorySource {
 public:
  DamagedTarget(Target& real, std::uint64_t seed) : real_(real), random_(seed) {}
  TargetKind kind() const override { return TargetKind::kLive; }
  pid_t pid() const override { return real_.pid(); }
  MemorySource& memory() override { return *this; }
  Result<std::vector<Mapping>> mappings() override { return real_.mappings(); }
  Result<std::vector<OsThread>> threads() override { return real_.threads(); }
  Result<UniqueFd> open_file(const std::string& path) override { return real_.open_file(path); }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    const auto size = real_.memory().read(address, out);
    if (size < 8 || random_() % odds_ != 0) return size;
    for (auto changes = 1 + random_() % 16; changes > 0; --changes) {
      const auto at = random_() % (size - 7);
      const auto from = random_() % (size - 7);
      switch (random_() % 4) {
        case 0:
          out[at] ^= static_cast<std::uint8_t>(1U << random_() % 8);
          break;
        case 1:
          out[at] = static_cast<std::uint8_t>(random_());
          break;
        case 2:
          std::memset(&out[at & ~7ULL], random_() % 2 == 0 ? 0 : 0xff, 8);
          break;
        default:  // another pointer of the page
          std::memmove(&out[at & ~7ULL], &out[from & ~7ULL], 8);
      }
    }
    return size;
  }
  void set_odds(std::uint64_t odds) { odds_ = odds; }

 private:
  Target& real_;
  std::mt19937_64 random_;
  std::uint64_t odds_ = ~0ULL;  // one page in so many is damaged
};

int damage(Target& target, int rounds) {
  constexpr rlimit kMemory{4ULL << 30, 4ULL << 30};
  ::setrlimit(RLIMIT_AS, &kMemory);
  auto whole = open_contract_reader(target);
  if (!whole) return std::fprintf(stderr, "%s\n", whole.error().what.c_str()), 1;
  const auto threads = (*whole)->threads();
  const auto kernel = target.threads();
  if (!threads || !kernel) return 1;
  std::vector<std::string> questions{"threads", "locks", "sources"};
  std::set<std::uint64_t> places;
  for (const auto& thread : *threads) {
    questions.push_back(fmt::format("frames {}", thread.os_id));
    questions.push_back(fmt::format("object {:#x}", thread.managed_object));
    if (const auto frames = (*whole)->frames(thread, {}))
      for (const auto& frame : *frames) places.insert(frame.pc - 1);
  }
  for (const auto place : places) questions.push_back(fmt::format("method {:#x}", place));
  std::size_t answers = 0;
  std::size_t errors = 0;
  int opened = 0;
  for (int round = 0; round < rounds; ++round) {
    DamagedTarget damaged{target, static_cast<std::uint64_t>(round)};
    if (round % 4 == 0) damaged.set_odds(8);  // else what is read at first is whole
    auto reader = open_contract_reader(damaged);
    if (!reader) continue;
    ++opened;
    damaged.set_odds(1 + static_cast<std::uint64_t>(round) % 6);
    for (const auto& question : questions) {
      JsonWriter out;
      answer(out, **reader, damaged, question);
      ++(out.text().starts_with(R"({"error")") ? errors : answers);
    }
  }
  fmt::print(R"({{"rounds":{},"opened":{},"questions":{},"answers":{},"errors":{}}})", rounds,
             opened, questions.size(), answers, errors);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) return *code;
  if (argc < 2) return std::fprintf(stderr, "usage: ask_runtime PID|CORE [contract|dac]\n"), 3;
  const auto pid = parse_number(argv[1]);
  auto target = pid ? open_process(static_cast<pid_t>(*pid)) : open_core(argv[1]);
  if (!target) return std::fprintf(stderr, "%s\n", target.error().what.c_str()), 1;
  const std::string kind = argc > 2 ? argv[2] : "";
  if (kind == "damage") return damage(**target, argc > 3 ? std::atoi(argv[3]) : 100);
  auto reader = kind == "dac"        ? open_dac_reader(**target)
                : kind == "contract" ? open_contract_reader(**target)
                                     : open_runtime(**target);
  if (!reader) return std::fprintf(stderr, "%s\n", reader.error().what.c_str()), 1;
  std::string question;
  JsonWriter out;
  while (std::getline(std::cin, question)) {
    out.clear();
    const auto start = std::chrono::steady_clock::now();
    answer(out, **reader, **target, question);
    if (kind == "time")
      std::fprintf(
          stderr, "%s: %.0f us\n", question.c_str(),
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
              .count());
    std::printf("%s\n", out.text().c_str());
    std::fflush(stdout);
  }
  return 0;
}
