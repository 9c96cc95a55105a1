// ECMA-335 metadata of one module: names of types, methods and fields, and their signatures.
//
// Rows are read when they are asked for, so that only the pages in use are fetched from the target.
// Reads bytes that may be hostile: what runs past an end is empty, and loops end. Belongs to one
// thread. Format: ECMA-335 partition II, chapters 22 to 24.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/result.h"
#include "symbols/pe.h"

namespace clrscope {

// The bytes of a metadata root, wherever they are.
class MetadataBytes {
 public:
  virtual ~MetadataBytes() = default;
  virtual std::size_t size() const = 0;
  // Empty when any of it is unavailable. Lives as long as this object.
  virtual Bytes get(std::size_t offset, std::size_t count) = 0;
};

// Bytes that are there already; they outlive it.
class WholeMetadata final : public MetadataBytes {
 public:
  explicit WholeMetadata(Bytes bytes) : bytes_(bytes) {}
  std::size_t size() const override { return bytes_.size(); }
  Bytes get(std::size_t offset, std::size_t count) override {
    if (offset > bytes_.size() || count > bytes_.size() - offset) return {};
    return bytes_.subspan(offset, count);
  }

 private:
  Bytes bytes_;
};

class Metadata {
 public:
  enum Table : std::uint8_t {
    kModule = 0x00,
    kTypeRef = 0x01,
    kTypeDef = 0x02,
    kField = 0x04,
    kMethodDef = 0x06,
    kMemberRef = 0x0a,
    kCustomAttribute = 0x0c,
    kStandAloneSig = 0x11,
    kTypeSpec = 0x1b,
    kAssembly = 0x20,
    kNestedClass = 0x29,
    kGenericParam = 0x2a,
    kMethodSpec = 0x2b,
  };
  static constexpr std::size_t kTables = 0x2d;

  static Result<Metadata> open(std::unique_ptr<MetadataBytes> bytes);

  std::uint32_t rows(Table table) const { return tables_[table].rows; }

  // Full names by token; empty when there is no such row. Nested types with '+'.
  const std::string& type_name(std::uint32_t token);
  // Of a TypeDef or TypeRef: its own name with namespace, without the types around it, as the
  // runtime writes it in signatures.
  std::string own_name(std::uint32_t token);
  std::string method_name(std::uint32_t token);
  // Of a MethodDef: the type that has it; 0 when there is none.
  std::uint32_t declaring_type(std::uint32_t method);
  // Of a MethodDef: whether it stands for a function of a native library.
  bool is_native_call(std::uint32_t method);
  std::string field_name(std::uint32_t token);
  std::string generic_parameter_name(std::uint32_t token);
  // The signature's blob; empty when there is none.
  Bytes method_signature(std::uint32_t token);
  Bytes type_spec(std::uint32_t token);
  // Of locals, or of a call through a pointer.
  Bytes stand_alone_signature(std::uint32_t token);
  // Of a MethodSpec: the generic method; 0 when there is none.
  std::uint32_t generic_method(std::uint32_t token);
  // Of a MethodDef: where its IL begins; 0 when it has none, or when its body is not IL.
  std::uint32_t il_address(std::uint32_t method);
  // Of the assembly: its text of AssemblyInformationalVersionAttribute; empty when it has none.
  std::string informational_version();
  // Whether its DebuggableAttribute keeps the JIT from optimizing it.
  bool forbids_optimization();

 private:
  struct TableInfo {
    std::uint32_t rows = 0;
    std::uint32_t row_size = 0;
    std::size_t start = 0;
    std::array<std::uint8_t, 9> widths{};  // of the columns
  };

  explicit Metadata(std::unique_ptr<MetadataBytes> bytes) : bytes_(std::move(bytes)) {}
  Result<> read_streams();
  Result<> read_tables(std::size_t start, std::size_t size);
  std::uint32_t index_width(std::uint8_t column) const;
  // A column of a row, numbered from 1; 0 when there is none.
  std::uint32_t cell(Table table, std::uint32_t row, std::size_t column);
  // The value of an attribute that is put on the assembly; empty when it has none of that type.
  Bytes assembly_attribute(std::string_view type);
  std::string text(std::uint32_t offset);
  Bytes blob(std::uint32_t offset);
  std::string joined(std::uint32_t space, std::uint32_t name);
  std::uint32_t enclosing(std::uint32_t type_row);
  std::string make_type_name(std::uint32_t token, int depth);

  struct Heap {
    std::size_t start = 0;
    std::size_t size = 0;
  };
  std::unique_ptr<MetadataBytes> bytes_;
  Heap strings_;
  Heap blobs_;
  std::uint8_t heap_sizes_ = 0;
  std::array<TableInfo, kTables> tables_{};
  std::unordered_map<std::uint32_t, std::string> type_names_;
};

// Of a managed module; looks into the image's bytes as long as it lives.
Result<Metadata> metadata_of(const PeFile& image);

}  // namespace clrscope
