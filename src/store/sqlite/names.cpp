#include "store/sqlite/names.h"

namespace clrscope::store {
namespace {

constexpr std::string_view kOther = "(other)";

}  // namespace

Result<> Names::load(Database& database) {
  auto names = TRY(database.prepare("SELECT id, text FROM name ORDER BY id"));
  while (TRY(names.step())) {
    texts_.push_back(names.text(1));
    by_text_.emplace(texts_.back(), static_cast<std::uint32_t>(texts_.size()));
    if (names.count(0) != texts_.size())
      return fail(Errc::kCorrupt, "{}: name {} is missing", database.path(), texts_.size());
  }
  auto paths = TRY(database.prepare("SELECT id, parent, method FROM path ORDER BY id"));
  while (TRY(paths.step())) {
    const CallPath path{static_cast<std::uint32_t>(paths.count(1)),
                        static_cast<std::uint32_t>(paths.count(2))};
    // A caller is older than its callee: walks towards the root end.
    if (paths.count(0) != paths_.size() + 1 || path.parent > paths_.size() ||
        path.method > texts_.size())
      return fail(Errc::kCorrupt, "{}: call path {} is damaged", database.path(), paths.count(0));
    add_path(path);
  }
  committed();
  return {};
}

std::uint32_t Names::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? 0 : found->second;
}

std::uint32_t Names::name_of(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto known = find(text); known != 0) return known;
  if (texts_.size() >= kMostNames && text != kOther) return name_of(kOther);
  texts_.emplace_back(text);
  by_text_.emplace(texts_.back(), static_cast<std::uint32_t>(texts_.size()));
  return static_cast<std::uint32_t>(texts_.size());
}

std::size_t Names::slot_of(CallPath path) const {
  const auto key = static_cast<std::uint64_t>(path.parent) << 32U | path.method;
  auto at = (key * 0x9e3779b97f4a7c15U >> 20U) & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const auto& there = paths_[slots_[at] - 1];
    if (there.parent == path.parent && there.method == path.method) break;
  }
  return at;
}

void Names::grow() {
  slots_.assign(std::max<std::size_t>(1024, slots_.size() * 2), 0);
  for (std::size_t i = 0; i < paths_.size(); ++i)
    slots_[slot_of(paths_[i])] = static_cast<std::uint32_t>(i + 1);
}

void Names::add_path(CallPath path) {
  if (paths_.size() * 2 >= slots_.size()) grow();
  const auto at = slot_of(path);
  paths_.push_back(path);
  slots_[at] = static_cast<std::uint32_t>(paths_.size());
}

std::uint32_t Names::path_of(std::uint32_t parent, std::uint32_t method) {
  if (slots_.empty()) grow();
  const CallPath path{parent, method};
  if (const auto known = slots_[slot_of(path)]; known != 0) return known;
  if (paths_.size() < kMostPaths) {
    add_path(path);
    return static_cast<std::uint32_t>(paths_.size());
  }
  const CallPath other{0, name_of(kOther)};
  if (const auto known = slots_[slot_of(other)]; known != 0) return known;
  add_path(other);
  return static_cast<std::uint32_t>(paths_.size());
}

const std::string& Names::text(std::uint32_t name) const {
  static const std::string none;
  return name == 0 || name > texts_.size() ? none : texts_[name - 1];
}

CallPath Names::path(std::uint32_t path) const {
  return path == 0 || path > paths_.size() ? CallPath{} : paths_[path - 1];
}

Result<> Names::write_new(Database& database) const {
  if (saved_names_ < texts_.size()) {
    auto insert = TRY(database.prepare("INSERT INTO name(id, text) VALUES(?, ?)"));
    for (auto at = saved_names_; at < texts_.size(); ++at)
      TRY(insert.bind(static_cast<std::uint64_t>(at + 1), texts_[at]).run());
  }
  if (saved_paths_ < paths_.size()) {
    auto insert = TRY(database.prepare("INSERT INTO path(id, parent, method) VALUES(?, ?, ?)"));
    for (auto at = saved_paths_; at < paths_.size(); ++at)
      TRY(insert.bind(static_cast<std::uint64_t>(at + 1), paths_[at].parent, paths_[at].method)
              .run());
  }
  return {};
}

}  // namespace clrscope::store
