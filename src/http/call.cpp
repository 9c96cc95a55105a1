#include "base/text.h"
#include "http/route.h"
#include "site/answer.h"

namespace clrscope::http {

Call::Call(Services& services, net::HttpRequest request, net::HttpReply reply)
    : services_(services),
      request_(std::move(request)),
      reply_(std::move(reply)),
      admitted_(std::static_pointer_cast<Admitted>(request_.admitted)) {
  CHECK(admitted_ != nullptr);
}

Call::Call(Call&&) noexcept = default;
Call::~Call() = default;

const std::string& Call::path_value(std::string_view name) const {
  std::size_t at = 0;
  for (const auto part : split(admitted_->route->path, '/')) {
    if (!part.starts_with('{')) continue;
    if (part.substr(1, part.size() - 2) == name) return admitted_->path_values.at(at);
    ++at;
  }
  check_failed(__FILE__, __LINE__, "the route has such a brace");
}

std::optional<std::string> Call::text(std::string_view name) const {
  return request_.parameter(name);
}

Result<std::optional<std::int64_t>> Call::number(std::string_view name, std::int64_t least,
                                                 std::int64_t most) const {
  const auto word = request_.parameter(name);
  if (!word) return std::nullopt;
  const bool negative = word->starts_with('-');
  const auto digits = parse_number(std::string_view{*word}.substr(negative ? 1 : 0));
  if (digits && *digits <= static_cast<std::uint64_t>(INT64_MAX)) {
    const auto value = static_cast<std::int64_t>(*digits) * (negative ? -1 : 1);
    if (value >= least && value <= most) return value;
  }
  return fail(Errc::kUsage, "{}={}: must be a number between {} and {}", name, *word, least, most);
}

Result<bool> Call::truth(std::string_view name, bool otherwise) const {
  const auto word = request_.parameter(name);
  if (!word) return otherwise;
  if (word->empty() || equal_ignoring_case(*word, "true") || *word == "1") return true;
  if (equal_ignoring_case(*word, "false") || *word == "0") return false;
  return fail(Errc::kUsage, "{}={} is neither true nor false", name, *word);
}

Result<> Call::need(Scope scope, std::string_view what) const {
  if (caller().scopes.has(scope)) return {};
  return fail(Errc::kDenied, "{} needs the scope {}", what, name_of(scope))
      .hint("yours are: {}", text_of(caller().scopes));
}

std::string Call::link(std::string_view path) const {
  return admitted_->base_path + std::string{path};
}

void Call::send(HttpResponse response) {
  add_security_fields(response);
  reply_.send(std::move(response));
}

void Call::send(const Error& error) { send(problem(error)); }

std::shared_ptr<net::HttpStream> Call::stream(HttpResponse head) {
  add_security_fields(head);
  return reply_.stream(std::move(head));
}

}  // namespace clrscope::http
