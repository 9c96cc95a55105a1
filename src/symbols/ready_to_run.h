// What a ReadyToRun image says of its methods' code: which function a method begins with, and which
// IL its machine code came from.
//
// ReadyToRunTables reads it wherever the image lies, in a process's memory or in a file;
// ReadyToRunImage is one in a file, by addresses relative to its beginning. Both read what may be
// hostile. One belongs to one thread. Format: "ReadyToRun file format" of the runtime's
// documentation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "symbols/debug_info.h"
#include "symbols/native_file.h"
#include "symbols/pdb_file.h"
#include "symbols/pe.h"

namespace clrscope {

class ReadyToRunTables {
 public:
  // Fills the span with what lies at an address; false when that is not to be had.
  using Read = std::function<bool(std::uint64_t address, std::span<std::uint8_t> out)>;

  // `header` is where the image's ReadyToRun header lies, `base` what its addresses count from.
  // Nothing when there is no such header.
  static std::optional<ReadyToRunTables> open(Read read, std::uint64_t header, std::uint64_t base);

  // Of the method whose first function has that number; empty when the image does not say.
  IlMap il_map(std::uint32_t function) const;
  // The first function of a method by its token, unless it is generic.
  std::optional<std::uint32_t> function_of_token(std::uint32_t token) const;
  // The function that begins at the address.
  std::optional<std::uint32_t> function_at(std::uint64_t address) const;
  struct Function {
    std::uint32_t number = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // the first address behind it
  };
  // The function that the address lies in: a method's first, or one of its handlers.
  std::optional<Function> function_around(std::uint64_t address) const;
  std::optional<Function> function_before(const Function& function) const;
  // Whether the image tells which IL it came from: so it does of methods, not of their handlers.
  bool has_il_map(std::uint32_t function) const;
  // Tokens of methods go up to this row.
  std::uint32_t method_rows() const;
  // Where calls lead until their target is known: small pieces of code, one behind the other.
  struct Place {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };
  Place unbound_calls() const {
    const auto start = base_ + call_thunks_.rva;
    return {start, start + call_thunks_.size};
  }

 private:
  struct Number {
    std::uint32_t value;
    std::uint64_t next;  // the address after it
  };
  struct Section {
    std::uint32_t type, rva, size;
  };

  ReadyToRunTables(Read read, std::uint64_t base) : read_(std::move(read)), base_(base) {}
  template <class T>
  std::optional<T> get(std::uint64_t address) const {
    T value{};
    if (!read_(address, {reinterpret_cast<std::uint8_t*>(&value), sizeof(T)})) return {};
    return value;
  }
  std::optional<Number> number(std::uint64_t address) const;
  std::optional<Function> function(std::uint32_t number) const;
  std::uint64_t element(std::uint64_t array, std::uint32_t index) const;

  Read read_;
  std::uint64_t base_;
  BoundsCoding coding_ = BoundsCoding::kBits;
  Section debug_info_{}, functions_{}, entry_points_{}, call_thunks_{};
};

class ReadyToRunImage {
 public:
  // Fails when it is none, or of another machine. `wanted` is what the runtime said of the module's
  // PDB: an image that does not name the same one is another build.
  static Result<ReadyToRunImage> open(const std::string& path,
                                      const std::optional<PdbReference>& wanted);

  const ReadyToRunTables& tables() const { return tables_; }
  const PeFile& file() const { return pe_; }
  std::size_t copied_bytes() const { return file_.copied_bytes(); }
  void rest() const { file_.rest(); }
  std::optional<std::uint32_t> rva_of_offset(std::uint64_t file_offset) const {
    return pe_.rva_of_offset(file_offset);
  }

 private:
  ReadyToRunImage(NativeFile file, PeFile pe, ReadyToRunTables tables)
      : file_(std::move(file)), pe_(std::move(pe)), tables_(std::move(tables)) {}

  NativeFile file_;  // what the others look into
  PeFile pe_;
  ReadyToRunTables tables_;
};

}  // namespace clrscope
