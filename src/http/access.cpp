#include "http/access.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/answer.h"
#include "http/origin.h"

namespace clrscope::http {
namespace {

constexpr std::chrono::minutes kWordTime{15};
constexpr std::chrono::hours kVisitTime{12};
constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostVisits = 1000;

ScopeSet reading() { return ScopeSet{}.add(Scope::kMetrics).add(Scope::kRead); }

bool changes(const net::HttpRequest& head) {
  return head.method != "GET" && head.method != "HEAD" && head.method != "OPTIONS";
}

// The word after "Bearer", if the field is there at all.
std::optional<std::string_view> bearer_of(const net::HttpRequest& head) {
  const auto field = head.field("Authorization");
  if (!field) return std::nullopt;
  const auto value = trim(*field);
  const auto space = value.find(' ');
  if (space == std::string_view::npos || !equal_ignoring_case(value.substr(0, space), "Bearer"))
    return std::string_view{};
  return trim(value.substr(space));
}

// Makes room: what is over goes, then what is over first.
template <class Map, class Until>
void make_room(Map& map, std::size_t most, TraceTime now, Until until) {
  if (map.size() < most) return;
  std::erase_if(map, [&](const auto& one) { return until(one.second) < now; });
  while (map.size() >= most)
    map.erase(
        std::ranges::min_element(map, {}, [&](const auto& one) { return until(one.second); }));
}

std::array<unsigned char, 32> random_bytes() {
  std::array<unsigned char, 32> bytes{};
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

// Names of hosts do not tell capitals apart: 16 letters of 16 kinds, 64 random bits.
std::string random_label() {
  std::string out;
  for (const auto byte : random_bytes())
    if (out.size() < 16) out += static_cast<char>('a' + byte % 16);
  return out;
}

// Whether "NAME:PORT" is of that name.
bool is_same_host(std::string_view field, std::string_view name) {
  return equal_ignoring_case(field.substr(0, name.size()), name) &&
         (field.size() == name.size() || field[name.size()] == ':');
}

}  // namespace

// The peer of a unix socket, or the user whom the app that forwards has let in.
static std::string name_of_peer(const net::HttpRequest& head) {
  if (const auto told = head.field("X-Clrscope-User"))
    if (const auto user = net::percent_decode(*told, false))
      return fmt::format("{} (by the app)", *user);
  return fmt::format("uid {}", *head.peer.uid);
}

bool is_stranger(const net::HttpRequest& head) {
  return !head.peer.uid || head.field("X-Clrscope-Caller") == "unknown";
}

std::string random_word() {
  const auto bytes = random_bytes();
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (const auto byte : bytes) out += kLetters[byte % 64];
  return out;
}

Access::Access(const ServeSetting& setting, Keys& keys)
    : setting_(setting), keys_(keys), own_name_("clrscope-" + random_label() + ".localhost") {}

Access::Visit Access::visit_with(const Key& key) {
  return {.name = key.name.empty() ? key.id : key.name, .scopes = key.scopes, .key = key.id};
}

std::optional<std::string> Access::cookie_of(const net::HttpRequest& head) const {
  for (const auto& field : head.fields) {
    if (!equal_ignoring_case(field.name, "Cookie")) continue;
    for (const auto part : split(field.value, ';')) {
      const auto one = trim(part);
      if (one.size() > cookie_name_.size() && one.starts_with(cookie_name_) &&
          one[cookie_name_.size()] == '=')
        return std::string{one.substr(cookie_name_.size() + 1)};
    }
  }
  return std::nullopt;
}

std::optional<Access::Visit> Access::visit_of(const std::string& cookie) const {
  auto visit = visits_.with([&](const auto& visits) -> std::optional<Visit> {
    const auto found = visits.find(cookie);
    if (found == visits.end() || found->second.until < TraceClock::now()) return std::nullopt;
    return found->second;
  });
  if (visit && !visit->key.empty() && !keys_.good(visit->key, wall_now())) return std::nullopt;
  return visit;
}

bool Access::too_many_failures(const net::HttpRequest& head) {
  return failures_.with([&](Failures& failures) {
    return failures.note(host_part(head.peer.address), TraceClock::now());
  });
}

net::HttpResponse Access::refuse_key(const net::HttpRequest& head) {
  if (too_many_failures(head)) {
    auto refusal = problem(429, "too many wrong keys from this address", "wait a minute");
    refusal.fields.push_back({"Retry-After", "60"});
    return refusal;
  }
  auto refusal =
      problem(401, "this key is not valid here", "clrscope key list shows the valid keys");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer error=\"invalid_token\""});
  return refusal;
}

std::variant<Caller, net::HttpResponse> Access::identify(const net::HttpRequest& head) {
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
  if (const auto word = bearer_of(head)) {
    const auto key = keys_.find(*word, wall_now());
    if (!key) return refuse_key(head);
    return granted({.name = key->name.empty() ? key->id : key->name, .scopes = key->scopes});
  }
  if (const auto cookie = cookie_of(head))
    if (const auto visit = visit_of(*cookie)) {
      if (changes(head) && !from_own_page(head))
        return problem(403, "this request does not come from a page of this server");
      return granted({.name = visit->name, .scopes = visit->scopes, .by_cookie = true});
    }
  if (setting_.no_auth) return granted({.name = "anonymous", .scopes = ScopeSet::all()});
  auto refusal = problem(401, "a key is needed",
                         "Authorization: Bearer KEY; or open the address that serve printed");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer"});
  return refusal;
}

std::string Access::new_word(Visit visit) {
  auto word = random_word();
  words_.with([&](auto& words) {
    const auto now = TraceClock::now();
    make_room(words, kMostWords, now, [](const Visit& one) { return one.until; });
    visit.until = now + kWordTime;
    words[word] = std::move(visit);
  });
  return word;
}

std::string Access::new_one_time_word() {
  return new_word({.name = "browser", .scopes = ScopeSet::all()});
}

std::optional<std::string> Access::one_time_word_for(std::string_view word) {
  const auto key = keys_.find(trim(word), wall_now());
  if (!key) return std::nullopt;
  return new_word(visit_with(*key));
}

bool Access::is_good_word(const std::string& word) const {
  return words_.with([&](const auto& words) {
    const auto found = words.find(word);
    return found != words.end() && found->second.until >= TraceClock::now();
  });
}

std::optional<std::string> Access::safer_place(const net::HttpRequest& head) const {
  const auto host = head.field("Host");
  // Whom an app lets in has no cookie of ours; with TLS a name needs a certificate.
  if (!is_stranger(head) || head.peer.tls || !host) return std::nullopt;
  const auto name = trim(*host);
  if (is_same_host(name, own_name_) ||
      std::ranges::any_of(setting_.hosts, [&](const auto& one) { return is_same_host(name, one); }))
    return std::nullopt;
  const auto colon = name.rfind(':');
  const auto port = colon == std::string_view::npos || name.ends_with(']') ? std::string_view{}
                                                                           : name.substr(colon);
  return fmt::format("http://{}{}", own_name_, port);
}

std::optional<std::string> Access::redeem(const std::string& word, const net::HttpRequest& head,
                                          std::string_view path) {
  auto visit = words_.with([&](auto& words) -> std::optional<Visit> {
    const auto found = words.find(word);
    if (found == words.end()) return std::nullopt;
    auto taken = std::move(found->second);
    words.erase(found);
    if (taken.until < TraceClock::now()) return std::nullopt;
    return taken;
  });
  if (!visit) return std::nullopt;
  return begin(std::move(*visit), head, path);
}

std::optional<std::string> Access::sign_in(std::string_view word, const net::HttpRequest& head,
                                           std::string_view path) {
  const auto key = keys_.find(trim(word), wall_now());
  if (!key) return std::nullopt;
  return begin(visit_with(*key), head, path);
}

std::string Access::begin(Visit visit, const net::HttpRequest& head, std::string_view path) {
  auto cookie = random_word();
  const auto now = TraceClock::now();
  visit.until = now + kVisitTime;
  visits_.with([&](auto& visits) {
    make_room(visits, kMostVisits, now, [](const Visit& one) { return one.until; });
    visits[cookie] = std::move(visit);
  });
  return fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict; Max-Age={}{}", cookie_name_,
                     cookie, path.empty() ? "/" : path,
                     std::chrono::duration_cast<std::chrono::seconds>(kVisitTime).count(),
                     head.peer.tls ? "; Secure" : "");
}

std::string Access::sign_out(const net::HttpRequest& head, std::string_view path) {
  if (const auto cookie = cookie_of(head))
    visits_.with([&](auto& visits) { visits.erase(*cookie); });
  return fmt::format("{}=; Path={}; HttpOnly; SameSite=Strict; Max-Age=0", cookie_name_,
                     path.empty() ? "/" : path);
}

}  // namespace clrscope::http
