// Who may ask for what: keys, one-time addresses, the owner of a unix socket.
//
// TCP needs a key, always, unless the administrator said otherwise aloud. A unix socket asks for
// the same user, or root. A browser gets a cookie for the one-time address that `serve` prints, or
// for a key; since browsers send cookies by themselves, such a caller may change something only
// from a page of ours (origin.h). Any thread.
//
// An app that forwards to its own controller over a unix socket speaks for its callers:
// X-Clrscope-User names one that the app let in, X-Clrscope-Caller: unknown one that nobody has
// looked at, who needs a key as on TCP. From TCP these fields mean nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/guarded.h"
#include "http/failures.h"
#include "http/keys.h"
#include "http/scope.h"
#include "http/setting.h"
#include "net/http_message.h"

namespace clrscope::http {

// Letters and digits that nobody guesses: 32 bytes of the kernel's randomness.
std::string random_word();

class Access {
 public:
  Access(const ServeSetting& setting, Keys& keys);

  // Who sent this head, or the answer that refuses it (401, 403, 429).
  std::variant<Caller, net::HttpResponse> identify(const net::HttpRequest& head);

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

  // Notes a wrong key; true when this address has sent too many.
  bool too_many_failures(const net::HttpRequest& head);

  std::size_t visits() const {
    return visits_.with([](const auto& visits) { return visits.size(); });
  }

 private:
  struct Visit {
    std::string name{};
    ScopeSet scopes{};
    TraceTime until{};
    std::string key{};  // id; empty: of a one-time address
  };
  std::optional<std::string> cookie_of(const net::HttpRequest& head) const;
  std::optional<Visit> visit_of(const std::string& cookie) const;
  static Visit visit_with(const Key& key);
  std::string new_word(Visit visit);
  std::string begin(Visit visit, const net::HttpRequest& head, std::string_view path);
  net::HttpResponse refuse_key(const net::HttpRequest& head);

  const ServeSetting& setting_;
  Keys& keys_;
  // Cookies do not know ports: two servers of a machine must not overwrite each other's.
  const std::string cookie_name_ = "clrscope-" + random_word().substr(0, 8);
  const std::string own_name_;
  Guarded<std::map<std::string, Visit>> words_;   // `until`: of the word
  Guarded<std::map<std::string, Visit>> visits_;  // by cookie
  Guarded<Failures> failures_;
};

// Whether the caller has to prove who it is: everybody on TCP, and those whom an app forwards
// without having looked at them.
bool is_stranger(const net::HttpRequest& head);

}  // namespace clrscope::http
