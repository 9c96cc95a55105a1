// Chooses the reader for a target, or puts two together.
#include "inspect/dac/locate.h"
#include "inspect/elf_image.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {
namespace {

// .NET 9: its contracts tell of threads, types and locks, and nothing of code. The runtime's own
// library does, but it costs a process: it is started when code is first asked for.
class PairedReader final : public RuntimeReader {
 public:
  PairedReader(Target& target, std::unique_ptr<RuntimeReader> contracts)
      : target_(target), contracts_(std::move(contracts)) {}

  SnapshotSource source() const override {
    return code_ ? SnapshotSource::kContractsAndDac : contracts_->source();
  }
  std::string_view version() const override { return contracts_->version(); }
  Result<std::vector<RuntimeThread>> threads() override {
    // Methods are compiled all the time: what the library has read of code is old as well.
    if (code_) TRY(code_->look_again());
    return contracts_->threads();
  }
  Result<TypeInfo> type_of_table(std::uint64_t method_table) override {
    return contracts_->type_of_table(method_table);
  }
  Result<SyncBlocks> sync_blocks() override { return contracts_->sync_blocks(); }
  std::uint64_t thread_statics(const RuntimeThread& thread) override {
    return contracts_->thread_statics(thread);
  }

  std::uint64_t loader_of(std::uint64_t method_table) override {
    return contracts_->loader_of(method_table);
  }
  Result<std::vector<StaticField>> static_fields(
      std::span<const std::uint64_t> method_tables) override {
    return contracts_->static_fields(method_tables);
  }

  Result<MethodInfo> method_at(std::uint64_t pc) override {
    auto* const code = TRY(open_code());
    return code->method_at(pc);
  }
  Result<MethodInfo> method_of(std::uint64_t method_desc) override {
    auto* const code = TRY(open_code());
    return code->method_of(method_desc);
  }
  std::string helper_at(std::uint64_t start) override {
    const auto code = open_code();
    return code ? (*code)->helper_at(start) : std::string{};
  }
  std::optional<unwind::UnwindRule> unwind_rule(std::uint64_t pc) override {
    const auto code = open_code();
    return code ? (*code)->unwind_rule(pc) : std::nullopt;
  }
  std::optional<std::uint32_t> il_offset(const MethodInfo& method, std::uint64_t pc) override {
    const auto code = open_code();
    return code ? (*code)->il_offset(method, pc) : std::nullopt;
  }
  Result<std::vector<ManagedFrame>> frames(const RuntimeThread& thread,
                                           const OsThread& os) override {
    auto* const code = TRY(open_code());
    return code->frames(thread, os);
  }

 private:
  Result<RuntimeReader*> open_code() {
    if (!tried_) {
      tried_ = true;
      auto opened = open_dac_reader(target_);
      if (opened)
        code_ = *std::move(opened);
      else
        why_not_ = std::move(opened).error();
    }
    if (!code_) return fail(why_not_);
    return code_.get();
  }

  Target& target_;
  std::unique_ptr<RuntimeReader> contracts_;
  std::unique_ptr<RuntimeReader> code_;
  bool tried_ = false;
  Error why_not_{};
};

// Nothing when there is a runtime.
std::optional<Failure> no_runtime(Target& target, const std::vector<MappedImage>& images) {
  Memory memory{target.memory()};
  for (const auto& image : images)
    if (image.path.find("/libcoreclr.so") != std::string::npos ||
        find_dynamic_symbol(memory, image.base, "DotNetRuntimeContractDescriptor") ||
        find_dynamic_symbol(memory, image.base, "g_dacTable"))
      return {};
  for (const auto& image : images)
    if (find_dynamic_symbol(memory, image.base, "DotNetRuntimeDebugHeader"))
      return fail(Errc::kUnsupported, "process {} is a NativeAOT program: {}", target.pid(),
                  image.path)
          .hint("it has no .NET runtime to inspect; its native stacks can be shown");
  return fail(Errc::kNotFound, "process {} does not run .NET", target.pid())
      .hint("clrscope ps lists the processes that do");
}

}  // namespace

Result<std::unique_ptr<RuntimeReader>> open_runtime(Target& target) {
  auto by_contract = open_contract_reader(target);
  if (by_contract) {
    // Asked about no code at all, it says whether it could be.
    const auto about_code = (*by_contract)->method_at(0);
    if (about_code || about_code.error().code != Errc::kUnsupported) return by_contract;
    return std::make_unique<PairedReader>(target, *std::move(by_contract));
  }
  const auto mappings = TRY(target.mappings());
  if (auto none = no_runtime(target, runtime_candidates(mappings))) return *std::move(none);
  auto by_library = open_dac_reader(target);
  if (by_library) return by_library;
  return fail(by_library.error().code, "{}; {}", by_contract.error().what, by_library.error().what)
      .hint("{}", by_library.error().hint);
}

std::optional<Error> unreadable_on_musl(Target& target) {
  const auto mappings = target.mappings();
  if (!mappings || !dac::uses_musl(*mappings)) return std::nullopt;
  // Asked by itself: its own words tell of musl and nothing else.
  const auto contracts = open_contract_reader(target);
  const auto code = contracts ? (*contracts)->method_at(0) : fail(contracts.error());
  if (contracts && (code || code.error().code != Errc::kUnsupported)) return std::nullopt;
  auto library = open_dac_reader(target);
  if (library) return std::nullopt;
  return std::move(library).error();
}

}  // namespace clrscope::inspect
