// Source lines of managed methods: what a portable PDB says.
//
//   const auto pdb = TRY(PortablePdb::parse(bytes));        // a .pdb file, or what was embedded
//   if (auto place = pdb.line_of(0x06000012, il_offset))    // method token, offset in its IL
//     use(place->file, place->line);
//
// Where the bytes come from is pdb_file.h's matter (find_pdb); how machine code leads to an IL
// offset is il_map.h's. Reads bytes that may be hostile; does no I/O and owns nothing: the bytes
// must stay as long as it is asked. Any thread may ask. Format: the portable PDB specification on
// top of ECMA-335's metadata.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

struct SourceLine {
  std::string file;        // as the compiler saw it: "/src/Shop/Cart.cs"
  std::uint32_t line = 0;  // from 1
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

// Of a PDB, and of the module that it was made with: a GUID and a stamp.
using PdbId = std::array<std::uint8_t, 20>;

struct SequencePoint {
  static constexpr std::uint32_t kHidden = 0xfeefee;  // as a line: code without source
  std::uint32_t il_offset = 0;
  std::uint32_t document = 0;  // row, from 1
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;

  bool hidden() const { return line == kHidden; }
};

class PortablePdb {
 public:
  // Fails when the tables are not there; what else is damaged is found when it is asked for.
  static Result<PortablePdb> parse(Bytes bytes);

  const PdbId& id() const { return id_; }
  std::uint32_t method_count() const { return methods_.rows; }
  std::uint32_t document_count() const { return documents_.rows; }

  // The line of the statement that the IL offset lies in: as in exceptions' stack traces, hidden
  // code counts to the statement before it. Nothing for methods without source.
  std::optional<SourceLine> line_of(std::uint32_t method_token, std::uint32_t il_offset) const;

  // All points of a method in the order of the file; what follows damage is left out.
  std::vector<SequencePoint> points(std::uint32_t method_token) const;
  std::string document_name(std::uint32_t row) const;  // empty when there is none

 private:
  struct Table {
    Bytes bytes{};
    std::uint32_t rows = 0;
    std::uint32_t row_size = 0;
    ByteReader row(std::uint32_t number) const;  // from 1; empty past the end
  };

  PortablePdb() = default;
  Result<> read_tables(Bytes stream);
  Bytes blob(std::uint32_t offset) const;
  std::uint32_t read_blob_index(ByteReader& in) const;

  PdbId id_{};
  Bytes blobs_{};
  Table documents_;
  Table methods_;
  bool wide_blobs_ = false;
};

}  // namespace clrscope
