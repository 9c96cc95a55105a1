#include "inspect/contract/ready_to_run_debug.h"

#include "symbols/ready_to_run.h"

namespace clrscope::inspect {

Result<ReadyToRunDebug> ReadyToRunDebug::open(Memory& memory, const Descriptor& descriptor) {
  ReadyToRunDebug made{memory};
  Needs needs{descriptor};
  made.in_module_ = needs.field("Module", "ReadyToRunInfo");
  made.composite_ = needs.field("ReadyToRunInfo", "CompositeInfo");
  made.header_ = needs.field("ReadyToRunInfo", "ReadyToRunHeader");
  TRY(needs.met());
  return made;
}

IlMap ReadyToRunDebug::il_map(const CodeBlock& block) {
  if (block.kind != CodeBlock::Kind::kReadyToRun) return {};
  auto info = memory_->pointer(block.module + in_module_).value_or(0);
  if (info == 0) return {};
  if (const auto composite = memory_->pointer(info + composite_); composite && *composite != 0)
    info = *composite;
  const auto tables = ReadyToRunTables::open(
      [this](std::uint64_t address, std::span<std::uint8_t> out) {
        return memory_->read(address, out);
      },
      memory_->pointer(info + header_).value_or(0), block.image_base);
  return tables ? tables->il_map(block.function) : IlMap{};
}

}  // namespace clrscope::inspect
