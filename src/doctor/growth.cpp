#include "doctor/growth.h"

namespace clrscope::doctor {

Growth growth_of(const Series& values) {
  Growth growth;
  if (values.size() < 2) return growth;
  growth.total = values.back().second - values.front().second;
  const auto seconds =
      std::chrono::duration<double>(values.back().first - values.front().first).count();
  if (seconds > 0) growth.per_second = growth.total / seconds;
  // Small steps back and forth do not count.
  const auto noise = growth.total / static_cast<double>(values.size()) / 10;
  std::size_t rose = 0, fell = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto step = values[i].second - values[i - 1].second;
    if (step > noise) ++rose;
    if (step < -noise) ++fell;
  }
  const auto steps = values.size() - 1;
  growth.steady = growth.total > 0 && steps >= 2 && rose * 10 >= steps * 6 && fell * 10 <= steps;
  return growth;
}

}  // namespace clrscope::doctor
