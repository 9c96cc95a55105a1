// The runtime's data descriptor: what its structures are called, where their fields lie, where its
// variables are, and which contracts (with versions) say how to use them.
//
// Exported by the runtime as `DotNetRuntimeContractDescriptor` since .NET 9. Parsing does no I/O;
// the text may be hostile. Format: docs/design/datacontracts of the .NET runtime.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inspect/memory.h"

namespace clrscope::inspect {

class Descriptor {
 public:
  static Result<Descriptor> parse(std::string_view json, std::span<const std::uint64_t> pointers);
  // From the structure at `address` of the target.
  static Result<Descriptor> read(Memory& memory, std::uint64_t address);

  std::optional<std::uint32_t> offset(std::string_view type, std::string_view field) const;
  std::optional<std::uint32_t> size(std::string_view type) const { return offset(type, "!"); }
  // Of a global that is a variable of the runtime: where it lies.
  std::optional<std::uint64_t> address(std::string_view global) const;
  // Of a global that is a number.
  std::optional<std::uint64_t> value(std::string_view global) const;
  // Version of a contract; nothing when the runtime does not know it.
  std::optional<std::uint32_t> contract(std::string_view name) const;
  // Fails unless the contract has this version: "unknown contract Thread version 7".
  Result<> require(std::string_view contract_name, std::uint32_t version) const;

  std::size_t types() const { return types_; }
  std::size_t globals() const { return addresses_.size() + values_.size(); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> offsets_;  // "Type.Field"
  std::map<std::string, std::uint64_t, std::less<>> addresses_;
  std::map<std::string, std::uint64_t, std::less<>> values_;
  std::map<std::string, std::uint32_t, std::less<>> contracts_;
  std::size_t types_ = 0;
};

// Collects offsets that a reader cannot do without; asked once at the end whether all were there.
class Needs {
 public:
  explicit Needs(const Descriptor& descriptor) : descriptor_(descriptor) {}

  std::uint32_t field(std::string_view type, std::string_view name);
  std::uint32_t size(std::string_view type) { return field(type, "!"); }
  std::uint64_t variable(std::string_view global);
  std::uint64_t number(std::string_view global);
  Result<> met() const;

 private:
  void miss(std::string_view what, std::string_view part);
  const Descriptor& descriptor_;
  std::string missing_;  // the first
};

}  // namespace clrscope::inspect
