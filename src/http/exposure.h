// From the words of --urls to endpoints, with the rules on what may be exposed how.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/setting.h"
#include "net/http_server.h"

namespace clrscope::http {

struct Endpoint {
  net::Address address{};
  bool tls = false;
  bool loopback = false;  // or a unix socket
};

// "http://127.0.0.1:52323", "https://0.0.0.0:52323", "unix:/run/clrscope.sock".
Result<Endpoint> parse_url(std::string_view url);

// Beyond loopback only with TLS; without keys only if the administrator says no_auth_remote.
Result<> check_exposure(const Endpoint& endpoint, const ServeSetting& setting);

std::string url_of(const net::Address& address, bool tls);

}  // namespace clrscope::http
