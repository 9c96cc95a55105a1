// The keys of a controller: words that clients send, known here only by their digests.
//
// They lie in one file of the state folder, which must be ours (base/private_folder.h). Every
// change takes a lock file, so that `clrscope key` may work beside a serve that runs; a serve looks
// at the file about once a second. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "http/scope.h"

namespace clrscope::http {

struct Key {
  std::string id{};  // short; for people and for revoking
  std::string name{};
  ScopeSet scopes{};
  WallTime created{};
  std::optional<WallTime> expires{};
  std::optional<WallTime> used{};  // about: written once a minute
  std::string digest{};            // SHA-256 of the word
};

class Keys {
 public:
  explicit Keys(std::string folder) : folder_(std::move(folder)) {}
  // Those of `folder`, or of the usual one when it is empty.
  static Keys in(const std::string& folder);

  struct Made {
    Key key;
    std::string word;  // shown once, kept nowhere
  };
  Result<Made> create(const std::string& name, ScopeSet scopes, std::optional<WallTime> expires,
                      WallTime now);
  // By id, or by a name that one key has.
  Result<Key> revoke(const std::string& which);
  Result<std::vector<Key>> list() const;  // from the file, by the time they were made

  // The key that the word is of, if it is still good. Notes that it was used.
  std::optional<Key> find(std::string_view word, WallTime now);
  // The same without the word: whether a visit that began with it may go on.
  bool good(const std::string& id, WallTime now) const;
  // Takes the file if it changed, and writes down when keys were used. About once a second.
  Result<> refresh(WallTime now);

 private:
  struct Stamp {
    std::int64_t seconds = 0, nanoseconds = 0;
    std::uint64_t inode = 0, size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct State {
    std::map<std::string, Key> by_digest{};
    std::optional<Stamp> stamp{};
    std::map<std::string, WallTime> used{};  // by id; not written yet
    WallTime written{};
  };
  enum class Missing { kIsAnError, kIsMade };
  // The folder's descriptor. Opened once and kept: a folder that later takes its name is not ours.
  Result<int> folder(Missing missing) const;
  // Reads, lets `change` work on the keys, writes: alone.
  template <class Change>
  Result<> rewrite(Change change);

  const std::string folder_;
  mutable Guarded<UniqueFd> opened_;
  Guarded<State> state_;
};

// Of the file's text; damage is an error.
Result<std::vector<Key>> parse_keys(std::string_view text);
std::string text_of(const std::vector<Key>& keys);

}  // namespace clrscope::http
