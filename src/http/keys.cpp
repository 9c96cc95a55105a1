#include "http/keys.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>

#include "archive/state_folder.h"
#include "base/fd.h"
#include "base/json_reader.h"
#include "base/private_folder.h"
#include "base/shape.h"
#include "base/text.h"
#include "net/digest.h"

namespace clrscope::http {
namespace {

constexpr const char* kFile = "keys.json";
constexpr const char* kLock = "keys.json.lock";
constexpr std::string_view kBefore = "csk_";  // so that scanners for leaked secrets know it
constexpr std::size_t kMostKeys = 10'000;
constexpr std::chrono::minutes kWriteUsed{1};

// A letter of 64 holds 6 bits, one of 16 holds 4.
std::string random_text(std::size_t size, std::string_view letters) {
  std::string out(size, ' ');
  CHECK(::getrandom(out.data(), size, 0) == static_cast<ssize_t>(size));
  for (auto& byte : out) byte = letters[static_cast<unsigned char>(byte) % letters.size()];
  return out;
}

constexpr std::string_view kWordLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kIdLetters = "0123456789abcdef";

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::optional<WallTime> time_of(const JsonValue& key, std::string_view name) {
  const auto* value = key.find(name);
  const auto seconds = value ? value->integer() : std::nullopt;
  if (!seconds || *seconds < 0 || *seconds > 4'000'000'000) return std::nullopt;
  return WallTime{std::chrono::seconds{*seconds}};
}

Result<Key> parse_key(const JsonValue& json) {
  Key key{.id = text_at(json, "id"), .name = text_at(json, "name")};
  key.digest = text_at(json, "sha256");
  const bool whole =
      key.digest.size() == 64 && key.digest.find_first_not_of(kIdLetters) == std::string::npos;
  if (key.id.empty() || !whole) return fail(Errc::kCorrupt, "a key has no id or no digest");
  const auto scopes = text_at(json, "scopes");
  for (const auto word : split(scopes, ',')) {
    const auto scope = parse_scope(word);
    if (!scope) return fail(Errc::kCorrupt, "key {} has the unknown scope '{}'", key.id, word);
    key.scopes.add(*scope);
  }
  key.created = time_of(json, "created").value_or(WallTime{});
  key.expires = time_of(json, "expires");
  // A time that cannot be read must not make a key eternal.
  if (const auto* told = json.find("expires"); told && !told->is_null() && !key.expires)
    return fail(Errc::kCorrupt, "key {} expires at no time", key.id);
  key.used = time_of(json, "used");
  return key;
}

// As they lie in their file; times are seconds since 1970.
struct StoredKey {
  std::string id{}, name{}, scopes{};
  std::int64_t created = 0;
  std::optional<std::int64_t> expires{}, used{};
  std::string digest{};
};
const Shape& shape_of(const StoredKey*) {
  using K = StoredKey;
  static const auto shape = describe<K>(
      "StoredKey", "A key, as it lies in the state folder",
      {member<&K::id>("id", "id of the key"), member<&K::name>("name", "its name"),
       member<&K::scopes>("scopes", "its scopes, separated by commas"),
       member<&K::created>("created", "time it was made"),
       member<&K::expires>("expires", "time from which it is invalid"),
       member<&K::used>("used", "last use"), member<&K::digest>("sha256", "digest of the key")});
  return shape;
}
struct StoredKeys {
  std::vector<StoredKey> keys{};
};
const Shape& shape_of(const StoredKeys*) {
  static const auto shape =
      describe<StoredKeys>("StoredKeys", "The keys, as they lie in the state folder",
                           {member<&StoredKeys::keys>("keys", "all of them")});
  return shape;
}

}  // namespace

Result<std::vector<Key>> parse_keys(std::string_view text) {
  const auto json = TRY(read_json(text));
  const auto* list = json.find("keys");
  if (!list || !list->array()) return fail(Errc::kCorrupt, "the list of keys is missing");
  std::vector<Key> keys;
  for (const auto& one : *list->array()) keys.push_back(TRY(parse_key(one)));
  return keys;
}

std::string text_of(const std::vector<Key>& keys) {
  StoredKeys stored;
  for (const auto& key : keys) {
    StoredKey one{.id = key.id,
                  .name = key.name,
                  .scopes = text_of(key.scopes),
                  .created = seconds_of(key.created),
                  .digest = key.digest};
    if (key.expires) one.expires = seconds_of(*key.expires);
    if (key.used) one.used = seconds_of(*key.used);
    stored.keys.push_back(std::move(one));
  }
  return json_text(stored) + "\n";
}

Result<int> Keys::folder(Missing missing) const {
  return opened_.with([&](UniqueFd& opened) -> Result<int> {
    if (!opened) {
      if (missing == Missing::kIsMade) TRY(archive::make_state_folder(folder_));
      opened = TRY(open_private_folder(folder_));
    }
    return opened.get();
  });
}

Result<std::vector<Key>> Keys::list() const {
  const auto opened = folder(Missing::kIsAnError);
  if (!opened && opened.error().code == Errc::kNotFound) return std::vector<Key>{};
  if (!opened) return fail(opened.error());
  const auto text = read_private_file(*opened, kFile, 16 << 20);
  if (!text && text.error().code == Errc::kNotFound) return std::vector<Key>{};
  if (!text)
    return fail(text.error().code, "in {}: {}", folder_, text.error().what)
        .hint("no key is valid until the file is repaired or removed");
  auto keys = parse_keys(*text);
  if (!keys)
    return fail(keys.error().code, "{}/{} is damaged: {}", folder_, kFile, keys.error().what)
        .hint("mend it or remove it: no key is good until then");
  return keys;
}

template <class Change>
Result<> Keys::rewrite(Change change) {
  const int opened = TRY(folder(Missing::kIsMade));
  const UniqueFd lock{::openat(opened, kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    return fail(errc_of(errno), "cannot lock {}/{}: {}", folder_, kLock, errno_text());
  auto keys = TRY(list());
  TRY(change(keys));
  return replace_private_file(opened, kFile, text_of(keys));
}

Keys Keys::in(const std::string& folder) { return Keys{archive::state_folder_path(folder)}; }

Result<Keys::Made> Keys::create(const std::string& name, ScopeSet scopes,
                                std::optional<WallTime> expires, WallTime now) {
  Made made{.key = {.id = random_text(8, kIdLetters),
                    .name = name,
                    .scopes = scopes,
                    .created = now,
                    .expires = expires},
            .word = std::string{kBefore} + random_text(32, kWordLetters)};  // 192 bits
  made.key.digest = net::sha256_hex(made.word);
  TRY(rewrite([&](std::vector<Key>& keys) -> Result<> {
    if (keys.size() >= kMostKeys)
      return fail(Errc::kUsage, "there are {} keys already", keys.size())
          .hint("clrscope key revoke ID");
    keys.push_back(made.key);
    return {};
  }));
  return made;
}

Result<Key> Keys::revoke(const std::string& which) {
  std::optional<Key> gone;
  TRY(rewrite([&](std::vector<Key>& keys) -> Result<> {
    const auto fits = [&](const Key& key) { return key.id == which; };
    const auto named = [&](const Key& key) { return key.name == which; };
    auto found = std::ranges::find_if(keys, fits);
    if (found == keys.end()) {
      if (std::ranges::count_if(keys, named) > 1)
        return fail(Errc::kUsage, "several keys are called {}", which).hint("say the id");
      found = std::ranges::find_if(keys, named);
    }
    if (found == keys.end())
      return fail(Errc::kNotFound, "key {} does not exist", which).hint("clrscope key list");
    gone = *found;
    keys.erase(found);
    return {};
  }));
  return *gone;
}

std::optional<Key> Keys::find(std::string_view word, WallTime now) {
  if (!word.starts_with(kBefore) || word.size() > 256) return std::nullopt;
  // The digest is what is looked up: how long that takes tells nothing of the words there are.
  const auto digest = net::sha256_hex(word);
  return state_.with([&](State& state) -> std::optional<Key> {
    const auto found = state.by_digest.find(digest);
    if (found == state.by_digest.end() || !net::equal_in_constant_time(found->first, digest))
      return std::nullopt;
    auto& key = found->second;
    if (key.expires && *key.expires <= now) return std::nullopt;
    if (!key.used || now - *key.used > std::chrono::seconds{1}) {
      key.used = now;
      state.used[key.id] = now;
    }
    return key;
  });
}

bool Keys::good(const std::string& id, WallTime now) const {
  return state_.with([&](const State& state) {
    return std::ranges::any_of(state.by_digest, [&](const auto& entry) {
      const auto& key = entry.second;
      return key.id == id && !(key.expires && *key.expires <= now);
    });
  });
}

Result<> Keys::refresh(WallTime now) {
  struct stat there {};
  const auto opened = folder(Missing::kIsAnError);
  const bool exists = opened && ::fstatat(*opened, kFile, &there, AT_SYMLINK_NOFOLLOW) == 0;
  const Stamp stamp{there.st_mtim.tv_sec, there.st_mtim.tv_nsec, there.st_ino,
                    static_cast<std::uint64_t>(there.st_size)};
  const auto known = state_.with([](const State& state) { return state.stamp; });
  if (!exists) {
    state_.with([](State& state) { state = {}; });  // whoever removed the file revoked all
    if (!opened && opened.error().code != Errc::kNotFound) return fail(opened.error());
    return {};
  }
  if (known != stamp) {
    const auto keys = list();
    state_.with([&](State& state) {
      state.by_digest.clear();  // a damaged file lets nobody in
      state.stamp = stamp;
      if (keys)
        for (const auto& key : *keys) state.by_digest[key.digest] = key;
    });
    if (!keys) return fail(keys.error());
  }
  const auto used = state_.with([&](State& state) {
    if (state.used.empty() || now - state.written < kWriteUsed)
      return std::map<std::string, WallTime>{};
    state.written = now;
    return std::exchange(state.used, {});
  });
  if (used.empty()) return {};
  return rewrite([&](std::vector<Key>& keys) -> Result<> {
    for (auto& key : keys)
      if (const auto at = used.find(key.id); at != used.end()) key.used = at->second;
    return {};
  });
}

}  // namespace clrscope::http
