#include "inspect/dac/reader.h"

#include <set>

#include "inspect/dac/kept_answers.h"
#include "inspect/dac/locate.h"
#include "inspect/dac/names.h"
#include "inspect/dac/wire.h"
#include "inspect/dac/worker_process.h"

namespace clrscope::inspect {
namespace dac {
namespace {

// A library that crashes on one question may answer the next; one that always does may not go on.
constexpr int kMostStarts = 4;

MethodInfo info_of(const RawMethod& raw) {
  return {.name = readable_method(raw),
          .module = raw.module,
          .token = raw.token,
          .method_desc = raw.method_desc,
          .code_start = raw.code_start,
          .code_size = raw.code_size,
          .dynamic_object = raw.dynamic_object};
}

class DacReader final : public RuntimeReader {
 public:
  DacReader(Target& target, RuntimeImage runtime, LibraryFile library,
            std::chrono::nanoseconds patience)
      : target_(target),
        runtime_(std::move(runtime)),
        library_(std::move(library)),
        patience_(patience),
        kept_(target.memory()) {}

  Result<> start() {
    worker_ = TRY(named(WorkerProcess::start(library_.file.get(), target_.memory().descriptor())));
    ++starts_;
    ByteWriter request;
    request.write(runtime_.base);
    request.write<std::uint8_t>(target_.memory().descriptor() >= 0);
    auto opened = named(worker_->ask(Kind::kOpen, request.bytes(), target_.memory(), patience_));
    if (opened) return {};
    worker_.reset();
    return fail(std::move(opened).error());
  }

  SnapshotSource source() const override { return SnapshotSource::kDac; }
  std::string_view version() const override { return runtime_.version; }

  Result<> look_again() override {
    seen_.clear();
    if (target_.kind() != TargetKind::kLive) return {};
    kept_.look_again();
    if (!asked_) return {};
    TRY(ask(Kind::kForget, {}));
    asked_ = false;
    return {};
  }

  Result<std::vector<RuntimeThread>> threads() override {
    TRY(look_again());
    const auto body = TRY(ask(Kind::kThreads, {}));
    auto threads = TRY(read_threads(body));
    for (auto& thread : threads) thread.exception_type = readable_type(thread.exception_type);
    return threads;
  }

  Result<MethodInfo> method_at(std::uint64_t pc) override {
    if (const auto* const known = kept_.method(pc)) return *known;
    ByteWriter request;
    request.write_varuint(1);
    request.write(pc);
    auto method = TRY(ask_method(Kind::kMethods, request.bytes()));
    if (!method) return fail(Errc::kNotFound, "{:#x} is not managed code", pc);
    return kept_.keep(*std::move(method));
  }

  Result<MethodInfo> method_of(std::uint64_t method_desc) override {
    ByteWriter request;
    request.write(method_desc);
    auto method = TRY(ask_method(Kind::kMethodOf, request.bytes()));
    if (!method) return fail(Errc::kNotFound, "{:#x} is not a method", method_desc);
    return *std::move(method);
  }

  std::string helper_at(std::uint64_t start) override {
    ByteWriter request;
    request.write(start);
    const auto name = ask(Kind::kHelper, request.bytes());
    return name ? read_printable(*name) : std::string{};
  }

  std::optional<unwind::UnwindRule> unwind_rule(std::uint64_t) override { return {}; }

  Result<TypeInfo> type_of_table(std::uint64_t method_table) override {
    if (const auto* const known = kept_.type(method_table)) return *known;
    if (!kept_.may_be_table(method_table))
      return fail(Errc::kNotFound, "{:#x} is not a method table", method_table);
    ByteWriter request;
    request.write(method_table);
    const auto body = TRY(ask(Kind::kType, request.bytes()));
    auto type = TRY(read_type(body));
    type.name = readable_type(type.name);
    type.base_name = readable_type(type.base_name);
    type.method_table = method_table;
    return kept_.keep(std::move(type));
  }

  Result<std::vector<StaticField>> static_fields(
      std::span<const std::uint64_t> method_tables) override {
    ByteWriter request;
    const auto asked = method_tables.first(std::min(method_tables.size(), kMostTables));
    request.write_varuint(asked.size());
    for (const auto table : asked) request.write(table);
    const auto body = TRY(ask(Kind::kStatics, request.bytes()));
    std::vector<StaticField> fields;
    for (const auto& raw : TRY(read_statics(body)))
      fields.push_back({.name = readable_type(raw.type) + '.' + raw.field, .address = raw.address});
    return fields;
  }

  Result<SyncBlocks> sync_blocks() override {
    if (!seen_.insert(kLocks).second) TRY(look_again());
    const auto body = TRY(ask(Kind::kSyncBlocks, {}));
    return read_sync_blocks(body);
  }

  std::optional<std::uint32_t> il_offset(const MethodInfo&, std::uint64_t pc) override {
    if (const auto known = kept_.il_offset(pc)) return *known;
    ByteWriter request;
    request.write(pc);
    const auto body = ask(Kind::kIlOffset, request.bytes());
    if (!body) return {};
    const auto offset = read_il_offset(*body);
    if (!offset) return {};
    kept_.keep_il_offset(pc, *offset);
    return *offset;
  }

  Result<std::vector<ManagedFrame>> frames(const RuntimeThread& thread,
                                           const OsThread& os) override {
    if (thread.os_id == 0) return fail(Errc::kNotFound, "the thread has no OS thread");
    if (!os.registers.knows(unwind::kRip) || !os.registers.knows(unwind::kRsp))
      return fail(Errc::kUnsupported, "the registers of thread {} are not known", thread.os_id);
    // The same thread once more is another look: it may have gone on.
    if (!seen_.insert(thread.os_id).second) TRY(look_again());
    ByteWriter request;
    request.write(thread.os_id);
    for (const auto value : os.registers.values) request.write(value);
    const auto body = TRY(ask(Kind::kFrames, request.bytes()));
    std::vector<ManagedFrame> frames;
    for (const auto& raw : TRY(read_frames(body))) {
      ManagedFrame frame{.pc = raw.pc, .sp = raw.sp};
      if (raw.method.found) frame.method = kept_.keep(info_of(raw.method)).name;
      frames.push_back(std::move(frame));
    }
    return frames;
  }

 private:
  static constexpr std::uint32_t kLocks = 0;  // no thread has this id
  // A type takes microseconds, unless the target was frozen while it changed its tables of types:
  // then the library may search them forever.
  static constexpr std::chrono::seconds kTypePatience{3};

  // Errors of the worker say whose they are.
  template <class T>
  Result<T> named(Result<T> result) const {
    if (result) return result;
    return fail(result.error().code, "{}: {}", library_.path, result.error().what)
        .hint("{}", result.error().hint);
  }

  Result<std::vector<std::uint8_t>> ask(Kind question, Bytes body) {
    if (!worker_ || !worker_->alive()) {
      if (broken_) return fail(*broken_);
      if (starts_ >= kMostStarts)
        return fail(Errc::kGone, "{}: gave up after {} attempts", library_.path, starts_);
      TRY(start());
    }
    asked_ = true;
    const auto patience = question == Kind::kType
                              ? std::min<std::chrono::nanoseconds>(patience_, kTypePatience)
                              : patience_;
    auto answer = named(worker_->ask(question, body, target_.memory(), patience));
    if (!answer && answer.error().code != Errc::kNotFound && !worker_->alive()) {
      // One that tried to break out, lied or hung is not asked again.
      if (answer.error().code != Errc::kGone) broken_ = answer.error();
    }
    return answer;
  }

  // Nothing: there is none.
  Result<std::optional<MethodInfo>> ask_method(Kind question, Bytes request) {
    const auto body = TRY(ask(question, request));
    const auto raw = TRY(read_methods(body));
    if (raw.size() != 1) return fail(Errc::kCorrupt, "the DAC worker gave {} methods", raw.size());
    return raw[0].found ? std::optional{info_of(raw[0])} : std::nullopt;
  }

  Target& target_;
  RuntimeImage runtime_;
  LibraryFile library_;
  std::chrono::nanoseconds patience_;
  std::unique_ptr<WorkerProcess> worker_;
  int starts_ = 0;
  bool asked_ = false;            // since it last forgot
  std::set<std::uint32_t> seen_;  // in this look: threads walked, kLocks
  std::optional<Error> broken_;
  KeptAnswers kept_;
};

}  // namespace

Result<std::unique_ptr<RuntimeReader>> open_reader(Target& target,
                                                   std::chrono::nanoseconds patience) {
  auto runtime = TRY(find_runtime(target));
  if (uses_musl(TRY(target.mappings())))
    return fail(Errc::kUnsupported,
                "process {} runs on musl (Alpine): the library that reads .NET {} there cannot be "
                "loaded by clrscope, which runs on glibc",
                target.pid(), runtime.version)
        .hint(
            "use its diagnostic port for events and for stacks without locks; .NET 10 can be read "
            "on musl too");
  auto library = TRY(find_library(target, runtime));
  auto reader =
      std::make_unique<DacReader>(target, std::move(runtime), std::move(library), patience);
  TRY(reader->start());
  return reader;
}

}  // namespace dac

Result<std::unique_ptr<RuntimeReader>> open_dac_reader(Target& target) {
  return dac::open_reader(target, dac::kPatience);
}

}  // namespace clrscope::inspect
