// Who may send and who may read: tokens in a file, known only by their digests.
//
//   NAME SCOPE[,SCOPE] SHA256 [TENANT]    one line each, # begins a comment
//
// Scopes: ingest, read, admin. A tenant * is whoever runs a server with tenants.
//
// The file must belong to us and be closed to others. Read again when it changes. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::fleet {

enum class Scope : std::uint8_t { kIngest = 1, kRead = 2, kAdmin = 4 };
inline constexpr std::uint8_t kAllScopes = 7;

struct Token {
  std::string name{};
  std::uint8_t scopes = 0;  // Scope bits
  std::string digest{};
  std::string tenant{};  // empty: of the server without tenants

  bool of_server() const { return tenant == "*"; }  // sees what tenants use, and no data
  bool may(Scope scope) const { return (scopes & static_cast<std::uint8_t>(scope)) != 0; }
};

Result<std::vector<Token>> parse_tokens(std::string_view text);

class Tokens {
 public:
  // An empty path: nobody needs a token.
  static Result<Tokens> open(std::string path);

  bool required() const { return !path_.empty(); }
  // The token of the word after "Bearer "; nothing: none of that word.
  std::optional<Token> find(std::string_view authorization) const;
  // The token of that digest, if it is still there.
  std::optional<Token> of(std::string_view digest) const;
  bool has(std::string_view digest, Scope scope) const;
  // About once a second. A failure keeps the tokens that were there.
  Result<> refresh();

 private:
  explicit Tokens(std::string path) : path_(std::move(path)), tokens_(new Guarded<State>) {}
  struct State {
    std::vector<Token> tokens{};
    std::string text{};
  };
  std::string path_;
  std::shared_ptr<Guarded<State>> tokens_;
};

// Adds a new token to the file, which is made when it is not there. Returns the word: it is shown
// once and kept nowhere.
Result<std::string> add_token(const std::string& path, const std::string& name,
                              const std::string& scopes, const std::string& tenant = {});

}  // namespace clrscope::fleet
