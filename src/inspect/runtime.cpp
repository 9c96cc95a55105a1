// Chooses the reader for a target.
#include "inspect/elf_image.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {
namespace {

Failure no_runtime(Target& target, const std::vector<MappedImage>& images) {
  Memory memory{target.memory()};
  for (const auto& image : images)
    if (find_dynamic_symbol(memory, image.base, "DotNetRuntimeDebugHeader"))
      return fail(Errc::kUnsupported, "process {} is a NativeAOT program: {}", target.pid(),
                  image.path)
          .hint("it has no runtime that could be asked; native stacks can be shown");
  return fail(Errc::kNotFound, "process {} runs no .NET", target.pid())
      .hint("clrscope ps lists the processes that do");
}

bool has_runtime(const std::vector<MappedImage>& images) {
  for (const auto& image : images)
    if (image.path.find("/libcoreclr.so") != std::string::npos) return true;
  return false;
}

}  // namespace

Result<std::unique_ptr<RuntimeReader>> open_runtime(Target& target) {
  auto by_contract = open_contract_reader(target);
  if (by_contract) return by_contract;
  const auto mappings = TRY(target.mappings());
  const auto images = runtime_candidates(mappings);
  if (by_contract.error().code == Errc::kUnsupported && !has_runtime(images))
    return no_runtime(target, images);
  return by_contract;
}

}  // namespace clrscope::inspect
