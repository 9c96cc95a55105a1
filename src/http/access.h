// Who may ask for what: keys, one-time addresses, the owner of a unix socket.
//
// TCP needs a key, always, unless the administrator said otherwise aloud. A unix socket asks for
// the same user, or root. A browser gets a cookie for the one-time address that `serve` prints;
// since browsers send cookies by themselves, such a caller may change something only from a page of
// ours (Origin, Sec-Fetch-Site). Any thread.
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
#include "http/scope.h"
#include "http/setting.h"
#include "net/http_message.h"

namespace clrscope::http {

class Access {
 public:
  explicit Access(const ServeSetting& setting) : setting_(setting) {}

  // Who sent this head, or the answer that refuses it (401, 403).
  std::variant<Caller, net::HttpResponse> identify(const net::HttpRequest& head) const;

  // A word that can be exchanged once for a cookie: for the address that is printed.
  std::string new_one_time_word();
  // The value of Set-Cookie, or nothing when the word is wrong, old or used.
  std::optional<std::string> redeem(const std::string& word, std::string_view path);

 private:
  struct Visit {
    std::string name{};
    ScopeSet scopes{};
    TraceTime until{};
  };
  const ServeSetting& setting_;
  Guarded<std::map<std::string, TraceTime>> words_;  // until when each is good
  Guarded<std::map<std::string, Visit>> visits_;     // by cookie
};

// Whether the caller has to prove who it is: everybody on TCP, and those whom an app forwards
// without having looked at them.
bool is_stranger(const net::HttpRequest& head);

// Letters and digits that nobody guesses: 32 bytes of the kernel's randomness.
std::string random_word();

}  // namespace clrscope::http
