// Puts the parts of the contract reader together.
#include <memory>
#include <unordered_map>

#include "inspect/contract/code.h"
#include "inspect/contract/descriptor.h"
#include "inspect/contract/frames.h"
#include "inspect/contract/locks.h"
#include "inspect/contract/methods.h"
#include "inspect/contract/modules.h"
#include "inspect/contract/ready_to_run_debug.h"
#include "inspect/contract/statics.h"
#include "inspect/contract/threads.h"
#include "inspect/contract/types.h"
#include "inspect/elf_image.h"
#include "inspect/runtime_reader.h"
#include "symbols/debug_info.h"

namespace clrscope::inspect {
namespace {

constexpr int kTries = 3;  // of what may change while it is read
constexpr std::size_t kMostIlMaps = 4096;

class ContractReader final : public RuntimeReader {
 public:
  explicit ContractReader(Target& target)
      : live_(target.kind() == TargetKind::kLive),
        memory_(target.memory()),
        stacks_(target.memory()) {}

  Result<> open(std::uint64_t descriptor_address) {
    descriptor_ = TRY(Descriptor::read(memory_, descriptor_address));
    modules_ = TRY(Modules::open(memory_, descriptor_));
    types_ = TRY(Types::open(memory_, descriptor_, *modules_));
    threads_ = TRY(Threads::open(memory_, descriptor_, *types_));
    locks_ = TRY(Locks::open(memory_, descriptor_));
    methods_ = TRY(Methods::open(memory_, descriptor_, *modules_, *types_));
    if (auto known = open_code(); !known) no_code_ = std::move(known.error().what);
    read_version();
    return {};
  }

  SnapshotSource source() const override { return SnapshotSource::kContracts; }
  std::string_view version() const override { return version_; }

  Result<std::vector<RuntimeThread>> threads() override {
    return list_threads(Threads::Detail::kAll);
  }

  Result<MethodInfo> method_at(std::uint64_t pc) override {
    if (!code_) return fail(Errc::kUnsupported, "{}", no_code_);
    const auto block = code_->find(pc);
    if (!block || block->kind == CodeBlock::Kind::kStub)
      return fail(Errc::kNotFound, "no managed method at {:#x}", pc);
    const auto& name = methods_->at(block->method_desc);
    if (name.name.empty()) return fail(Errc::kCorrupt, "the method at {:#x} has no name", pc);
    return MethodInfo{.name = name.name,
                      .module = name.module,
                      .token = name.token,
                      .method_desc = block->method_desc,
                      .code_start = block->start,
                      .code_size = block->size,
                      .dynamic_object = methods_->dynamic_object(block->method_desc)};
  }

  Result<MethodInfo> method_of(std::uint64_t method_desc) override {
    const auto& name = methods_->at(method_desc);
    if (name.name.empty()) return fail(Errc::kNotFound, "{:#x} is not a method", method_desc);
    return MethodInfo{
        .name = name.name, .module = name.module, .token = name.token, .method_desc = method_desc};
  }

  std::optional<unwind::UnwindRule> unwind_rule(std::uint64_t pc) override {
    const auto block = code_ ? code_->find(pc) : std::nullopt;
    return block ? code_->rule(*block, pc) : std::nullopt;
  }

  Result<TypeInfo> type_of_table(std::uint64_t method_table) override {
    if (const auto* const info = types_->info(method_table)) return *info;
    return fail(Errc::kNotFound, "{:#x} is not a method table", method_table);
  }

  std::uint64_t thread_statics(const RuntimeThread& thread) override {
    return threads_->statics_of(thread);
  }
  Result<std::vector<StaticField>> static_fields(
      std::span<const std::uint64_t> method_tables) override {
    const auto owners = TRY(threads());
    return Statics{memory_, descriptor_, *modules_, *types_, *threads_}.list(method_tables, owners);
  }
  std::uint64_t loader_of(std::uint64_t method_table) override {
    const auto at = descriptor_.offset("Module", "LoaderAllocator");
    const auto module = types_->loader_module_of(method_table);
    return at && module != 0 ? memory_.pointer(module + *at).value_or(0) : 0;
  }
  Result<SyncBlocks> sync_blocks() override {
    const auto owners = TRY(list_threads(Threads::Detail::kIds));
    return locks_->list(owners);
  }

  std::optional<std::uint32_t> il_offset(const MethodInfo& method, std::uint64_t pc) override {
    const auto block = code_ ? code_->find(pc) : std::nullopt;
    if (!block || block->start != method.code_start) return {};
    auto known = il_maps_.find(block->start);
    if (known == il_maps_.end()) {
      if (il_maps_.size() >= kMostIlMaps) il_maps_.clear();
      known = il_maps_.emplace(block->start, il_map_of(*block)).first;
    }
    return known->second.il_offset(static_cast<std::uint32_t>(pc - block->start));
  }

  Result<std::vector<ManagedFrame>> frames(const RuntimeThread& thread,
                                           const OsThread& os) override {
    if (!frames_) return fail(Errc::kUnsupported, "{}", no_code_);
    if (live_) stacks_.forget();
    const auto first = stacks_.pointer(threads_->first_frame_address(thread)).value_or(0);
    std::vector<ManagedFrame> found;
    for (const auto& place : frames_->walk(first, os.registers)) {
      const auto block = code_->find(place.interrupted ? place.pc : place.pc - 1);
      found.push_back({.pc = place.pc,
                       .sp = place.sp,
                       .method = block ? methods_->at(block->method_desc).name : std::string{}});
    }
    return found;
  }

 private:
  Result<std::vector<RuntimeThread>> list_threads(Threads::Detail detail) {
    for (int tries = 1;; ++tries) {
      refresh();
      auto list = threads_->list(detail);
      if (list || !live_ || tries == kTries) return list;
    }
  }

  // A process that runs has changed since the last look.
  void refresh() {
    if (!live_) return;
    memory_.forget();
    if (code_) code_->forget();
  }

  IlMap il_map_of(const CodeBlock& block) {
    if (block.kind != CodeBlock::Kind::kJitted) return ready_debug_->il_map(block);
    if (block.debug_info == 0) return {};
    // How long it is stands inside; it lies in one piece with other such things.
    for (std::size_t size = 512; size <= kMostDebugInfo; size *= 4) {
      std::vector<std::uint8_t> bytes(size);
      if (!memory_.read(block.debug_info, bytes)) return {};
      if (auto map = il_map_of_jitted(bytes); !map.empty()) return map;
    }
    return {};
  }

  // What .NET 9 has not.
  Result<> open_code() {
    code_ = TRY(Code::open(memory_, descriptor_));
    ready_debug_ = TRY(ReadyToRunDebug::open(memory_, descriptor_));
    frames_ = TRY(Frames::open(stacks_, descriptor_, *code_));
    return {};
  }

  void read_version() {
    const auto object = descriptor_.address("ObjectMethodTable");
    const auto table = object ? memory_.pointer(*object) : std::nullopt;
    if (!table) return;
    auto& core = modules_->at(types_->module_of(*table));
    if (core.metadata) version_ = core.metadata->informational_version();
    version_ = version_.substr(0, version_.find('+'));  // the commit follows
  }

  bool live_;
  Memory memory_;
  Memory stacks_;  // changes all the time, and the rest does not
  Descriptor descriptor_;
  std::string version_;
  std::optional<Modules> modules_;
  std::optional<Types> types_;
  std::optional<Threads> threads_;
  std::optional<Locks> locks_;
  std::optional<Methods> methods_;
  std::optional<Code> code_;  // not before .NET 10
  std::optional<ReadyToRunDebug> ready_debug_;
  std::optional<Frames> frames_;
  std::string no_code_;                               // why
  std::unordered_map<std::uint64_t, IlMap> il_maps_;  // by the start of the code
};

}  // namespace

Result<std::unique_ptr<RuntimeReader>> open_contract_reader(Target& target) {
  Memory memory{target.memory()};
  const auto mappings = TRY(target.mappings());
  const auto images = runtime_candidates(mappings);
  for (const auto& image : images) {
    const auto symbol = find_dynamic_symbol(memory, image.base, "DotNetRuntimeContractDescriptor");
    if (!symbol) continue;
    auto reader = std::make_unique<ContractReader>(target);
    TRY(reader->open(*symbol));
    return reader;
  }
  return fail(Errc::kUnsupported, "the runtime of process {} has no data contracts", target.pid())
      .hint("data contracts require .NET 9 or later");
}

}  // namespace clrscope::inspect
