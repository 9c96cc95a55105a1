#include "analyze/unmeasured_method.h"

#include <algorithm>
#include <tuple>

namespace clrscope::analyze {
namespace {

constexpr std::size_t kMostListed = 1000;

}  // namespace

void order_and_cut(std::vector<UnmeasuredMethod>& methods) {
  // Intrinsic ones are many, and always the same.
  std::ranges::sort(methods, {}, [](const auto& one) {
    return std::tuple{one.reason == "intrinsic", one.reason, one.method};
  });
  if (methods.size() > kMostListed) methods.resize(kMostListed);
}

DocumentTable unmeasured_table(const std::vector<UnmeasuredMethod>& methods, std::size_t rows) {
  DocumentTable table{.columns = {"NOT MEASURED", "METHOD"}};
  for (std::size_t i = 0; i < std::min(methods.size(), rows); ++i)
    table.rows.push_back({methods[i].reason, methods[i].method});
  return table;
}

const Shape& shape_of(const UnmeasuredMethod*) {
  using A = UnmeasuredMethod;
  static const auto shape = describe<A>(
      "UnmeasuredMethod", "a method that matches the patterns and was not measured to the end",
      {member<&A::method>("method", "name of the method"),
       member<&A::reason>("reason",
                          "noBody, damaged, tooLarge, jmp, variableArguments, returnInClause, "
                          "badTarget, unknownSignature, intrinsic (or used by the runtime itself), "
                          "tooManyMethods, runtimeAsync, overBudget (measured until then), "
                          "refusedByRuntime"),
       member<&A::code>("hresult", "answer of the runtime")});
  return shape;
}

}  // namespace clrscope::analyze
