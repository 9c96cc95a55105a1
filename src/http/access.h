// Who may ask for what: keys, one-time addresses, the owner of a unix socket.
//
// TCP needs a key, always, unless the administrator said otherwise aloud. A unix socket asks for
// the same user, or root. A browser has a cookie (site/visits.h). Any thread.
//
// An app that forwards to its own controller over a unix socket speaks for its callers:
// X-Clrscope-User names one that the app let in, X-Clrscope-Caller: unknown one that nobody has
// looked at, who needs a key as on TCP. From TCP these fields mean nothing.
#pragma once

#include <variant>

#include "http/keys.h"
#include "http/scope.h"
#include "http/setting.h"
#include "net/http_message.h"
#include "site/visits.h"

namespace clrscope::http {

class Access {
 public:
  Access(const ServeSetting& setting, Keys& keys);

  // Who sent this head, or the answer that refuses it (401, 403, 429).
  std::variant<Caller, net::HttpResponse> identify(const net::HttpRequest& head);

  site::Visits& visits() { return visits_; }

 private:
  net::HttpResponse refuse_key(const net::HttpRequest& head);

  const ServeSetting& setting_;
  Keys& keys_;
  site::Visits visits_;
};

// Whether the caller has to prove who it is: everybody on TCP, and those whom an app forwards
// without having looked at them.
bool is_stranger(const net::HttpRequest& head);

}  // namespace clrscope::http
