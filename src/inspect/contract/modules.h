// The modules of a runtime: file and metadata, found from the address of the runtime's Module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "inspect/contract/descriptor.h"
#include "symbols/metadata.h"
#include "symbols/signature.h"

namespace clrscope::inspect {

struct Module {
  std::uint64_t address = 0;
  std::string path{};                    // or a name alone, in a single-file app; empty: dynamic
  std::unique_ptr<Metadata> metadata{};  // null when it cannot be read
};

// Where an image's metadata lies, whether it is mapped by sections or as it is in the file.
struct MetadataPlace {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
};
std::optional<MetadataPlace> locate_metadata(Memory& memory, std::uint64_t image_base);

class Modules {
 public:
  static Result<Modules> open(Memory& memory, const Descriptor& descriptor);

  // Made at the first time. Never null; of what is no module, one without path and metadata.
  Module& at(std::uint64_t address);

 private:
  explicit Modules(Memory& memory) : memory_(&memory) {}
  std::string text_at(std::uint64_t pointer_address);
  std::unique_ptr<Metadata> metadata_of(std::uint64_t address);

  Memory* memory_;
  std::uint32_t base_ = 0;
  std::uint32_t path_ = 0;
  std::optional<std::uint32_t> file_name_{};
  std::uint32_t dynamic_ = 0;
  std::uint32_t dynamic_size_ = 0;
  std::uint32_t dynamic_data_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Module>> modules_;
};

}  // namespace clrscope::inspect
