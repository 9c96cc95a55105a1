#include "site/visits.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/result.h"
#include "base/text.h"

namespace clrscope::site {
namespace {

constexpr std::chrono::minutes kWordTime{15};
constexpr std::chrono::hours kVisitTime{12};
constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostVisits = 1000;

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

}  // namespace

std::string random_word() {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (const auto byte : random_bytes()) out += kLetters[byte % 64];
  return out;
}

bool is_same_host(std::string_view field, std::string_view name) {
  return equal_ignoring_case(field.substr(0, name.size()), name) &&
         (field.size() == name.size() || field[name.size()] == ':');
}

Visits::Visits(Setting setting)
    : setting_(std::move(setting)), own_name_("clrscope-" + random_label() + ".localhost") {}

// Makes room: what is over goes, then what is over first.
void Visits::keep(Map& map, std::size_t most, const std::string& word, Timed one, TraceTime now) {
  if (map.size() >= most) {
    std::erase_if(map, [&](const auto& old) { return old.second.until < now; });
    while (map.size() >= most)
      map.erase(
          std::ranges::min_element(map, {}, [](const auto& old) { return old.second.until; }));
  }
  map[word] = std::move(one);
}

std::optional<std::string> Visits::cookie_of(const net::HttpRequest& head) const {
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

std::optional<Visit> Visits::find(const net::HttpRequest& head) const {
  const auto cookie = cookie_of(head);
  if (!cookie) return std::nullopt;
  auto visit = visits_.with([&](const Map& visits) -> std::optional<Visit> {
    const auto found = visits.find(*cookie);
    if (found == visits.end() || found->second.until < TraceClock::now()) return std::nullopt;
    return found->second.visit;
  });
  if (visit && !visit->key.empty() && !setting_.is_good(visit->key)) return std::nullopt;
  return visit;
}

bool Visits::too_many_failures(const net::HttpRequest& head) {
  return failures_.with([&](Failures& failures) {
    return failures.note(host_part(head.peer.address), TraceClock::now());
  });
}

std::string Visits::new_word(Visit visit) {
  auto word = random_word();
  const auto now = TraceClock::now();
  words_.with([&](Map& words) {
    keep(words, kMostWords, word, {std::move(visit), now + kWordTime}, now);
  });
  return word;
}

std::string Visits::new_one_time_word() {
  return new_word({.name = "browser", .scopes = setting_.all_scopes});
}

std::optional<std::string> Visits::one_time_word_for(std::string_view key) {
  auto visit = setting_.find_key(trim(key));
  if (!visit) return std::nullopt;
  return new_word(std::move(*visit));
}

bool Visits::is_good_word(const std::string& word) const {
  return words_.with([&](const Map& words) {
    const auto found = words.find(word);
    return found != words.end() && found->second.until >= TraceClock::now();
  });
}

std::optional<std::string> Visits::safer_place(const net::HttpRequest& head) const {
  const auto host = head.field("Host");
  // With TLS a name needs a certificate.
  if (head.peer.tls || !host || setting_.is_at_home(head)) return std::nullopt;
  const auto name = trim(*host);
  if (is_same_host(name, own_name_)) return std::nullopt;
  const auto colon = name.rfind(':');
  const auto port = colon == std::string_view::npos || name.ends_with(']') ? std::string_view{}
                                                                           : name.substr(colon);
  return fmt::format("http://{}{}", own_name_, port);
}

std::string Visits::one_time_address(const std::string& url, std::string_view base_path) {
  constexpr std::string_view kPlain = "http://";
  std::optional<std::string> safer;
  // Over plain HTTP it is a loopback address.
  if (url.starts_with(kPlain))
    safer = safer_place({.fields = {{"Host", url.substr(kPlain.size())}}});
  return fmt::format("{}{}/sign-in?once={}", safer.value_or(url), base_path, new_one_time_word());
}

std::optional<std::string> Visits::redeem(const std::string& word, const net::HttpRequest& head,
                                          std::string_view path) {
  auto visit = words_.with([&](Map& words) -> std::optional<Visit> {
    const auto found = words.find(word);
    if (found == words.end()) return std::nullopt;
    auto taken = std::move(found->second);
    words.erase(found);
    if (taken.until < TraceClock::now()) return std::nullopt;
    return std::move(taken.visit);
  });
  if (!visit) return std::nullopt;
  return begin(std::move(*visit), head, path);
}

std::optional<std::string> Visits::sign_in(std::string_view key, const net::HttpRequest& head,
                                           std::string_view path) {
  auto visit = setting_.find_key(trim(key));
  if (!visit) return std::nullopt;
  return begin(std::move(*visit), head, path);
}

std::string Visits::begin(Visit visit, const net::HttpRequest& head, std::string_view path) {
  auto cookie = random_word();
  const auto now = TraceClock::now();
  visits_.with([&](Map& visits) {
    keep(visits, kMostVisits, cookie, {std::move(visit), now + kVisitTime}, now);
  });
  return fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict; Max-Age={}{}", cookie_name_,
                     cookie, path.empty() ? "/" : path,
                     std::chrono::duration_cast<std::chrono::seconds>(kVisitTime).count(),
                     head.peer.tls ? "; Secure" : "");
}

std::string Visits::sign_out(const net::HttpRequest& head, std::string_view path) {
  if (const auto cookie = cookie_of(head))
    visits_.with([&](Map& visits) { visits.erase(*cookie); });
  return fmt::format("{}=; Path={}; HttpOnly; SameSite=Strict; Max-Age=0", cookie_name_,
                     path.empty() ? "/" : path);
}

}  // namespace clrscope::site
