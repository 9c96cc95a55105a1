#include "http/access.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "site/answer.h"
#include "site/origin.h"

namespace clrscope::http {
namespace {

using site::problem;

ScopeSet reading() { return ScopeSet{}.add(Scope::kMetrics).add(Scope::kRead); }

std::string name_of_key(const Key& key) { return key.name.empty() ? key.id : key.name; }

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

Access::Access(const ServeSetting& setting, Keys& keys)
    : setting_(setting),
      keys_(keys),
      visits_({.find_key = [this](std::string_view word) -> std::optional<site::Visit> {
                 const auto key = keys_.find(word, wall_now());
                 if (!key) return std::nullopt;
                 return site::Visit{
                     .name = name_of_key(*key), .scopes = key->scopes.bits(), .key = key->id};
               },
               .is_good = [this](const std::string& key) { return keys_.good(key, wall_now()); },
               // Whom an app lets in has no cookie of ours.
               .is_at_home =
                   [this](const net::HttpRequest& head) {
                     const auto host = trim(head.field("Host").value_or(""));
                     return !is_stranger(head) ||
                            std::ranges::any_of(setting_.hosts, [&](const auto& one) {
                              return site::is_same_host(host, one);
                            });
                   },
               .all_scopes = ScopeSet::all().bits(),
               .key_word = "key",
               .key_command = "clrscope key create --name you --scopes metrics,read,trace",
               .serve_command = "clrscope serve"}) {}

net::HttpResponse Access::refuse_key(const net::HttpRequest& head) {
  if (visits_.too_many_failures(head)) {
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
    return granted({.name = name_of_key(*key), .scopes = key->scopes});
  }
  if (const auto visit = visits_.find(head)) {
    if (changes(head) && !site::from_own_page(head))
      return problem(403, "this request does not come from a page of this server");
    return granted({.name = visit->name, .scopes = ScopeSet::of(visit->scopes), .by_cookie = true});
  }
  if (setting_.no_auth) return granted({.name = "anonymous", .scopes = ScopeSet::all()});
  auto refusal = problem(401, "a key is needed",
                         "Authorization: Bearer KEY; or open the address that serve printed");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer"});
  return refusal;
}

}  // namespace clrscope::http
