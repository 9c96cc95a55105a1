// Browsers that are signed in: cookies, and words that can be exchanged for one once.
//
// A browser gets a cookie for the one-time address that a server prints, or for a key. Since
// browsers send cookies by themselves, such a caller may change something only from a page of ours
// (origin.h). What a key is, and what its scopes mean, the server says. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/guarded.h"
#include "net/http_message.h"
#include "site/failures.h"

namespace clrscope::site {

// Letters and digits that nobody guesses: 32 bytes of the kernel's randomness.
std::string random_word();

// Whether a Host field, "NAME:PORT", is of that name.
bool is_same_host(std::string_view field, std::string_view name);

struct Visit {
  std::string name{};       // for the audit log
  std::uint8_t scopes = 0;  // bits, as the server has them
  std::string key{};        // id; empty: of a one-time address
};

class Visits {
 public:
  struct Setting {
    // Who has this key; nothing when it is not good.
    std::function<std::optional<Visit>(std::string_view word)> find_key{};
    // Whether the key of a visit is still good.
    std::function<bool(const std::string& key)> is_good{};
    // Whether a browser may have its cookie at the loopback address that it asks.
    std::function<bool(const net::HttpRequest& head)> is_at_home{};
    std::uint8_t all_scopes = 0;       // of a one-time address
    std::string_view key_word{};       // what a key is called: "key", "token"
    std::string_view key_command{};    // makes a key
    std::string_view serve_command{};  // prints the one-time address
  };
  explicit Visits(Setting setting);

  const Setting& setting() const { return setting_; }

  // Of the request's cookie; nothing when it has none, or an old one.
  std::optional<Visit> find(const net::HttpRequest& head) const;

  // A word that can be exchanged once for a cookie: for the address that is printed.
  std::string new_one_time_word();
  // The same for a key; nothing when it is not good.
  std::optional<std::string> one_time_word_for(std::string_view key);
  bool is_good_word(const std::string& word) const;
  // The value of Set-Cookie, or nothing when the word is wrong, old or used.
  std::optional<std::string> redeem(const std::string& word, const net::HttpRequest& head,
                                    std::string_view path);
  // The same for a key, for as long as the key is good.
  std::optional<std::string> sign_in(std::string_view key, const net::HttpRequest& head,
                                     std::string_view path);
  // Ends the visit that the request's cookie is of. The value of Set-Cookie that removes it.
  std::string sign_out(const net::HttpRequest& head, std::string_view path);

  // A browser sends the cookies of 127.0.0.1 to every port of it, whoever listens there. So on
  // plain loopback addresses the pages have a name that only those who signed in know.
  const std::string& own_name() const { return own_name_; }  // "clrscope-….localhost"
  // Where a browser that came to this loopback address should go on: "http://NAME:PORT". Nothing
  // when it may have its cookie where it is.
  std::optional<std::string> safer_place(const net::HttpRequest& head) const;
  // The address that signs a browser in, once. `url`: of the server; `base_path`: before its paths.
  std::string one_time_address(const std::string& url, std::string_view base_path);

  // Notes a wrong key; true when this address has sent too many.
  bool too_many_failures(const net::HttpRequest& head);

  std::size_t count() const {
    return visits_.with([](const auto& visits) { return visits.size(); });
  }

 private:
  struct Timed {
    Visit visit{};
    TraceTime until{};
  };
  using Map = std::map<std::string, Timed>;
  static void keep(Map& map, std::size_t most, const std::string& word, Timed one, TraceTime now);
  std::optional<std::string> cookie_of(const net::HttpRequest& head) const;
  std::string new_word(Visit visit);
  std::string begin(Visit visit, const net::HttpRequest& head, std::string_view path);

  const Setting setting_;
  // Cookies do not know ports: two servers of a machine must not overwrite each other's.
  const std::string cookie_name_ = "clrscope-" + random_word().substr(0, 8);
  const std::string own_name_;
  Guarded<Map> words_;   // `until`: of the word
  Guarded<Map> visits_;  // by cookie
  Guarded<Failures> failures_;
};

}  // namespace clrscope::site
