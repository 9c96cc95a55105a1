#include "fleet/tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "net/digest.h"
#include "store/tenant_store.h"

namespace clrscope::fleet {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::string_view kBearer = "Bearer ";

Result<std::uint8_t> scopes_of(std::string_view text) {
  std::uint8_t scopes = 0;
  for (const auto word : split(text, ',')) {
    if (word == "ingest")
      scopes |= static_cast<std::uint8_t>(Scope::kIngest);
    else if (word == "read")
      scopes |= static_cast<std::uint8_t>(Scope::kRead);
    else if (word == "admin")
      scopes |= static_cast<std::uint8_t>(Scope::kAdmin);
    else
      return fail(Errc::kUsage, "unknown scope {}", word)
          .hint("use ingest, read, admin, or several: read,admin");
  }
  return scopes;
}

Result<> check_tenant(const std::string& tenant) {
  if (tenant.empty() || tenant == "*" || store::is_tenant_name(tenant)) return {};
  return fail(Errc::kUsage, "'{}' is not the name of a tenant", tenant)
      .hint("use 1 to 32 of a-z, 0-9 and _, a letter first; or * for whoever runs the server");
}

Result<std::string> read_tokens(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!file)
    return fail(errc_of(errno), "cannot open the token file {}: {}", path, errno_text())
        .hint("create one: clrscope fleet token --token-file {} --name NAME --scope ingest", path);
  struct stat state {};
  if (::fstat(file.get(), &state) != 0 || !S_ISREG(state.st_mode) || state.st_uid != ::geteuid() ||
      (state.st_mode & 077U) != 0)
    return fail(Errc::kDenied, "the token file {} must be a file of its owner alone", path)
        .hint("chmod 600 {}", path);
  return read_open_file(file.get(), kLargestFile);
}

}  // namespace

Result<std::vector<Token>> parse_tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto content = trim(line.substr(0, line.find('#')));
    if (content.empty()) continue;
    std::vector<std::string_view> words;
    for (const auto word : split(content, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() < 3 || words.size() > 4 || words[2].size() != 64)
      return fail(Errc::kCorrupt, "line {} of the token file is not NAME SCOPES SHA256 [TENANT]",
                  number);
    Token token{.name = std::string{words[0]},
                .scopes = TRY(scopes_of(words[1])),
                .digest = std::string{words[2]},
                .tenant = std::string{words.size() > 3 ? words[3] : ""}};
    TRY(check_tenant(token.tenant));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<Tokens> Tokens::open(std::string path) {
  Tokens tokens{std::move(path)};
  TRY(tokens.refresh());
  return tokens;
}

Result<> Tokens::refresh() {
  if (!required()) return {};
  auto text = TRY(read_tokens(path_));
  if (tokens_->with([&](const State& state) { return state.text == text; })) return {};
  auto parsed = TRY(parse_tokens(text));
  tokens_->with([&](State& state) { state = {std::move(parsed), std::move(text)}; });
  return {};
}

std::optional<Token> Tokens::find(std::string_view authorization) const {
  if (!authorization.starts_with(kBearer)) return {};
  const auto digest = net::sha256_hex(authorization.substr(kBearer.size()));
  return tokens_->with([&](const State& state) -> std::optional<Token> {
    for (const auto& token : state.tokens)
      if (net::equal_in_constant_time(token.digest, digest)) return token;
    return {};
  });
}

std::optional<Token> Tokens::of(std::string_view digest) const {
  return tokens_->with([&](const State& state) -> std::optional<Token> {
    for (const auto& token : state.tokens)
      if (token.digest == digest) return token;
    return {};
  });
}

bool Tokens::has(std::string_view digest, Scope scope) const {
  const auto token = of(digest);
  return token && token->may(scope);
}

Result<std::string> add_token(const std::string& path, const std::string& name,
                              const std::string& scopes, const std::string& tenant) {
  TRY(scopes_of(scopes));
  TRY(check_tenant(tenant));
  if (name.empty() || name.find_first_of(" \t\n#") != std::string::npos)
    return fail(Errc::kUsage, "--name must be a word without blanks");
  std::uint8_t bytes[24];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return fail(Errc::kSystem, "cannot get random bytes: {}", errno_text());
  std::string word = "clrf_";
  for (const auto byte : bytes) word += fmt::format("{:02x}", byte);
  const UniqueFd file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kFileMode)};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  const auto line = fmt::format("{} {} {}{}{}\n", name, scopes, net::sha256_hex(word),
                                tenant.empty() ? "" : " ", tenant);
  TRY(write_all(file.get(), as_bytes(line)));
  return word;
}

}  // namespace clrscope::fleet
