#include "http/access.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>

#include "base/text.h"
#include "http/answer.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kCookie = "clrscope";
constexpr std::chrono::minutes kWordTime{15};
constexpr std::chrono::hours kVisitTime{12};

std::optional<std::string> cookie_of(const net::HttpRequest& head) {
  for (const auto& field : head.fields) {
    if (!equal_ignoring_case(field.name, "Cookie")) continue;
    for (const auto part : split(field.value, ';')) {
      const auto one = trim(part);
      if (one.starts_with(kCookie) && one.size() > kCookie.size() && one[kCookie.size()] == '=')
        return std::string{one.substr(kCookie.size() + 1)};
    }
  }
  return std::nullopt;
}

ScopeSet reading() { return ScopeSet{}.add(Scope::kMetrics).add(Scope::kRead); }

bool changes(const net::HttpRequest& head) {
  return head.method != "GET" && head.method != "HEAD" && head.method != "OPTIONS";
}

// A page of another site cannot make a browser say these.
bool from_own_page(const net::HttpRequest& head) {
  if (const auto site = head.field("Sec-Fetch-Site")) return *site == "same-origin";
  const auto origin = head.field("Origin");
  const auto host = head.field("Host");
  if (!origin || !host) return false;
  const auto at = origin->find("://");
  return at != std::string_view::npos && origin->substr(at + 3) == *host;
}

// The peer of a unix socket, or the user whom the app that forwards has let in.
std::string name_of_peer(const net::HttpRequest& head) {
  if (const auto told = head.field("X-Clrscope-User"))
    if (const auto user = net::percent_decode(*told, false))
      return fmt::format("{} (by the app)", *user);
  return fmt::format("uid {}", *head.peer.uid);
}

}  // namespace

bool is_stranger(const net::HttpRequest& head) {
  return !head.peer.uid || head.field("X-Clrscope-Caller") == "unknown";
}

std::string random_word() {
  std::array<unsigned char, 32> bytes{};
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (const auto byte : bytes) out += kLetters[byte % 64];
  return out;
}

std::variant<Caller, net::HttpResponse> Access::identify(const net::HttpRequest& head) const {
  const auto granted = [&](Caller caller) {
    if (setting_.read_only)
      caller.scopes = caller.scopes.has(Scope::kAdmin) ? reading() : caller.scopes.only(reading());
    return caller;
  };
  if (head.peer.uid) {
    if (*head.peer.uid != ::geteuid() && *head.peer.uid != 0)
      return problem(403, fmt::format("user {} may not use this socket", *head.peer.uid),
                     "its owner and root may");
    if (!is_stranger(head)) return granted({.name = name_of_peer(head), .scopes = ScopeSet::all()});
  }
  if (const auto cookie = cookie_of(head)) {
    const auto visit = visits_.with([&](const auto& visits) -> std::optional<Visit> {
      const auto found = visits.find(*cookie);
      if (found == visits.end() || found->second.until < TraceClock::now()) return std::nullopt;
      return found->second;
    });
    if (visit) {
      if (changes(head) && !from_own_page(head))
        return problem(403, "this request does not come from a page of this server");
      return granted({.name = visit->name, .scopes = visit->scopes, .by_cookie = true});
    }
  }
  if (setting_.no_auth) {
    if (changes(head) && head.field("Origin") && !from_own_page(head))
      return problem(403, "this request does not come from a page of this server");
    return granted({.name = "anonymous", .scopes = ScopeSet::all()});
  }
  auto refusal = problem(401, "a key is needed",
                         "Authorization: Bearer KEY; or open the address that serve printed");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer"});
  return refusal;
}

std::string Access::new_one_time_word() {
  auto word = random_word();
  words_.with([&](auto& words) { words[word] = TraceClock::now() + kWordTime; });
  return word;
}

std::optional<std::string> Access::redeem(const std::string& word, std::string_view path) {
  const bool good = words_.with([&](auto& words) {
    const auto found = words.find(word);
    if (found == words.end()) return false;
    const bool in_time = found->second >= TraceClock::now();
    words.erase(found);
    return in_time;
  });
  if (!good) return std::nullopt;
  auto cookie = random_word();
  visits_.with([&](auto& visits) {
    visits[cookie] = {
        .name = "browser", .scopes = ScopeSet::all(), .until = TraceClock::now() + kVisitTime};
  });
  return fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict; Max-Age={}", kCookie, cookie,
                     path.empty() ? "/" : path,
                     std::chrono::duration_cast<std::chrono::seconds>(kVisitTime).count());
}

}  // namespace clrscope::http
