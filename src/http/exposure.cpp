#include "http/exposure.h"

#include "base/text.h"

namespace clrscope::http {
namespace {

bool is_loopback(const net::Address& address) {
  if (!address.path.empty()) return true;
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

}  // namespace

Result<Endpoint> parse_url(std::string_view url) {
  Endpoint endpoint;
  auto rest = url;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    endpoint.tls = true;
  } else if (!rest.starts_with("unix:")) {
    return fail(Errc::kUsage, "{} is not an address", url)
        .hint("http://127.0.0.1:52323, https://0.0.0.0:52323 or unix:PATH");
  }
  while (rest.ends_with('/') && !rest.starts_with("unix:")) rest.remove_suffix(1);
  endpoint.address = TRY(net::parse_address(rest, "52323"));
  if (endpoint.address.host == "+" || endpoint.address.host == "*")
    endpoint.address.host = "0.0.0.0";
  endpoint.loopback = is_loopback(endpoint.address);
  return endpoint;
}

Result<> check_exposure(const Endpoint& endpoint, const ServeSetting& setting) {
  if (endpoint.tls && setting.certificate.empty())
    return fail(Errc::kUsage, "https needs a certificate")
        .hint("--certificate FILE [--certificate-key FILE]");
  if (endpoint.loopback) return {};
  if (!endpoint.tls)
    return fail(Errc::kUsage, "{} can be reached from other machines: not without TLS",
                url_of(endpoint.address, false))
        .hint("https:// with --certificate, or 127.0.0.1 and a proxy");
  if (setting.no_auth && !setting.no_auth_remote)
    return fail(Errc::kUsage, "--no-auth beyond loopback would open the programs to everybody")
        .hint(
            "use keys (clrscope key create) or 127.0.0.1; --no-auth-remote if everybody who "
            "reaches {} may do everything",
            url_of(endpoint.address, true));
  return {};
}

std::string url_of(const net::Address& address, bool tls) {
  if (!address.path.empty()) return "unix:" + address.path;
  return (tls ? "https://" : "http://") + address.text();
}

}  // namespace clrscope::http
