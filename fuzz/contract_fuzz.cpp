// What the contract reader parses, over bytes that claim to be it. The first byte says which: j the
// data descriptor's JSON, m metadata, s a signature, r the tables of a ReadyToRun image, d debug
// info.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "inspect/contract/descriptor.h"
#include "symbols/metadata.h"
#include "symbols/ready_to_run.h"
#include "symbols/signature.h"

namespace {

using namespace clrscope;
using namespace clrscope::inspect;

void read_descriptor(Bytes bytes) {
  static constexpr std::uint64_t kPointers[32] = {};
  const auto made = Descriptor::parse(as_text(bytes), kPointers);
  if (!made) return;
  Needs needs{*made};
  needs.field("Thread", "LinkNext");
  needs.variable("ThreadStore");
  needs.number("ObjectHeaderSize");
  (void)needs.met();
  (void)made->require("Thread", 1);
}

void read_metadata(Bytes bytes) {
  auto made = Metadata::open(std::make_unique<WholeMetadata>(bytes));
  if (!made) return;
  SignatureNames names;
  names.type = [&](std::uint32_t token) { return made->own_name(token); };
  names.handle = [](std::uint64_t) { return std::string{"?"}; };
  for (std::uint32_t row = 0; row < 24; ++row) {
    (void)made->type_name(0x02000000 | row);
    (void)made->type_name(0x01000000 | row);
    (void)made->field_name(0x04000000 | row);
    (void)made->method_name(0x06000000 | row);
    (void)made->type_name(made->declaring_type(0x06000000 | row));
    (void)made->is_native_call(0x06000000 | row);
    (void)made->method_name(0x0a000000 | row);
    (void)made->generic_parameter_name(0x2a000000 | row);
    (void)arguments_of_signature(made->method_signature(0x06000000 | row), names);
    (void)type_of_signature(made->type_spec(0x1b000000 | row), names);
  }
  (void)made->informational_version();
}

void read_signature(Bytes bytes) {
  SignatureNames names;
  names.type = [](std::uint32_t) { return std::string{"Type"}; };
  names.handle = names.type;
  (void)arguments_of_signature(bytes, names);
  (void)type_of_signature(bytes, names);
}

void read_tables(Bytes bytes) {
  const auto tables = ReadyToRunTables::open(
      [bytes](std::uint64_t address, std::span<std::uint8_t> out) {
        if (address > bytes.size() || out.size() > bytes.size() - address) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address), out.size(), out.begin());
        return true;
      },
      4, 0);
  if (!tables) return;
  for (std::uint32_t i = 0; i < 40; ++i) {
    (void)tables->il_map(i);
    (void)tables->function_of_token(0x06000000 | i);
    (void)tables->function_at(i * 16);
    (void)tables->function_around(i * 16 + 1);
    (void)tables->has_il_map(i);
  }
  (void)tables->method_rows();
  (void)tables->unbound_calls();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes{data + 1, size - 1};
  switch (data[0]) {
    case 'j':
      read_descriptor(bytes);
      break;
    case 'm':
      read_metadata(bytes);
      break;
    case 's':
      read_signature(bytes);
      break;
    case 'r':
      read_tables(bytes);
      break;
    default:
      (void)il_map_of_jitted(bytes).il_offset(4);
  }
  return 0;
}
