// ask_runtime PID [contract|dac|time]: answers questions about a runtime, one line of JSON each;
// for tests that compare the readers with each other and with what a program says of itself.
//
//   threads, locks, type 0xTABLE, object 0xADDRESS, method 0xPC, frames OSID, and (between tabs)
//   named TYPE METHOD SIGNATURE: how the names in the runtime's events are shown
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "inspect/dac/worker.h"
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
  for (const auto& one : *locks)
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
  if (words[0] == "type") return write_type(out, reader, number);
  if (words[0] == "method") return write_method(out, reader, number);
  if (words[0] == "frames") return write_frames(out, reader, target, number);
  if (words[0] == "object") {
    const auto table = Memory{target.memory()}.pointer(number);
    return write_type(out, reader, table.value_or(0) & ~std::uint64_t{7});
  }
  write_error(out, {Errc::kUsage, "unknown question"});
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) return *code;
  if (argc < 2) return std::fprintf(stderr, "usage: ask_runtime PID [contract|dac]\n"), 3;
  auto target = open_process(std::atoi(argv[1]));
  if (!target) return std::fprintf(stderr, "%s\n", target.error().what.c_str()), 1;
  const std::string kind = argc > 2 ? argv[2] : "";
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
