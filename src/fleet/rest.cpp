#include "fleet/rest.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "site/accept.h"
#include "site/answer.h"
#include "site/assets.h"
#include "site/origin.h"
#include "site/sign_in.h"
#include "site/template.h"

namespace clrscope::fleet {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using site::problem;

constexpr std::string_view kHome = "/fleet/services";
constexpr std::string_view kAssets = "/assets/";
constexpr std::uint64_t kFormLimit = 4096;
constexpr std::uint64_t kChangeLimit = 128 << 10;

// A page of the web app; web/build.mjs makes the list from web/src/pages.
bool is_page(std::string_view path) {
  static constexpr std::string_view kPages[] = {
#define PAGE(address)
#define FLEET_PAGE(address) address,
#include <pages.inc>
#undef FLEET_PAGE
#undef PAGE
  };
  for (const auto page : kPages) {
    const auto brace = page.find('{');
    if (brace == std::string_view::npos
            ? page == path
            : path.size() > brace && path.starts_with(page.substr(0, brace)) &&
                  path.find('/', brace) == std::string_view::npos)
      return true;
  }
  return false;
}

bool is_change(const HttpRequest& head) {
  const auto* route = find_route(head.path).route;
  return head.method == "POST" && route != nullptr && route->change != nullptr;
}

bool is_sign_in(std::string_view path) {
  return path == "/sign-in" || path == "/sign-in/key" || path == "/sign-out";
}

// The app's document: for a page, and for an address that does not exist.
HttpResponse shell(const HttpRequest& request) {
  const bool found = is_page(request.path);
  const auto data = find_route(request.path).route ? request.path : std::string{kHome};
  const auto query = found && !request.query.empty() ? "?" + request.query : std::string{};
  const auto text = data + query + (query.empty() ? "?" : "&") + "accept=application/json";
  const site::Mark marks[] = {
      {"base", ""}, {"server", "fleet"}, {"version", CLRSCOPE_VERSION}, {"text", text}};
  return site::html_answer(site::page_from("index.html", marks), found ? 200 : 404);
}

bool wants_page(const HttpRequest& head) {
  if (head.method != "GET" && head.method != "HEAD") return false;
  const bool has_data = find_route(head.path).route != nullptr;
  if (has_data && !is_page(head.path)) return false;
  return site::prefers_html(has_data || !is_page(head.path) ? site::kJson : "",
                            site::accept_of(head));
}

// As a part of a file name.
std::string file_word(std::string text) {
  constexpr std::size_t kLongest = 64;
  text.resize(std::min(text.size(), kLongest));
  for (auto& c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      c = '-';
  return text;
}

// Of an answer that succeeds.
HttpResponse head_of(const RestRoute& route, const HttpRequest& request) {
  if (route.file.empty()) return site::json_answer("");
  return {
      .type = std::string{site::kOctets},
      .fields = {{"Content-Disposition",
                  fmt::format("attachment; filename=\"{}-{}\"",
                              file_word(request.parameter("service").value_or("")), route.file)}}};
}

// The client sees a connection that breaks; why is said here. One that left knows.
void log_broken(const HttpRequest& request, const Error& error) {
  if (error.code == Errc::kGone) return;
  log(LogLevel::kWarning, "the answer to {} for {} was broken off: {}", request.target,
      request.peer.address, error.what);
}

HttpResponse secured(HttpResponse response) {
  site::add_security_fields(response);
  return response;
}

}  // namespace

HttpResponse Rest::answer(const HttpRequest& request, const Access& access, const Caller& caller,
                          RestBody& body) {
  auto match = find_route(request.path);
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!match.route)
    return reads ? problem(404, "no such route: " + request.path, "/openapi.json lists all routes")
                 : problem(405, "only GET is allowed");
  if (!reads && !is_change(request)) return problem(405, "only GET is allowed");
  if (!match.route->of_server && caller.tenant == nullptr) {
    access.audit.note(request.method + " " + request.target, caller.name, request.peer.address,
                      "refused", "*");
    return problem(403, "the token is of no tenant", "/fleet/tenants is for it");
  }
  if (match.route->method == "post") return problem(405, "only POST is allowed");
  const auto made = [&]() -> Result<> {
    if (match.route->of_server) {
      body.json().raw(TRY(match.route->of_server({.tenants = access.tenants, .caller = caller})));
      return {};
    }
    const RestCall call{.request = request,
                        .store = caller.tenant->store(),
                        .caller = caller,
                        .audit = access.audit,
                        .body = body,
                        .now = wall_now(),
                        .value = std::move(match.value)};
    return reads ? match.route->answer(call) : match.route->change(call);
  };
  body.begin(head_of(*match.route, request));
  if (const auto done = made(); !done) {
    // What broke it off first.
    const auto& error = body.sent() ? done.error() : body.sent().error();
    if (body.in_pieces()) log_broken(request, error);
    // What the store cannot do now it may do later.
    if (error.code == Errc::kSystem) return problem(503, error.what, error.hint);
    if (error.code == Errc::kBusy) return problem(409, error.what, error.hint);
    return problem(error);
  }
  return std::move(body).take();
}

Rest::Rest(Access access, QueryGate& gate)
    : access_(access),
      gate_(gate),
      visits_({.find_key = [this](std::string_view word) -> std::optional<site::Visit> {
                 const auto token = access_.tokens.find("Bearer " + std::string{word});
                 if (!token || !token->may(Scope::kRead)) return std::nullopt;
                 return site::Visit{.name = token->name, .key = token->digest};
               },
               .is_good =
                   [this](const std::string& digest) {
                     return access_.tokens.has(digest, Scope::kRead);
                   },
               // Behind a proxy the name is that of the proxy.
               .is_at_home =
                   [](const HttpRequest& head) {
                     return head.peer.uid || !net::local_host_field(head.field("Host"), {});
                   },
               .key_word = "token",
               .key_command = "clrscope fleet token --token-file FILE --name you --scope read",
               .serve_command = "clrscope fleet serve"}) {
  for (auto& worker : workers_)
    worker = std::jthread{[this](const std::stop_token& stop) { work(stop); }};
  exporter_ = std::jthread{[this](const std::stop_token& stop) { work_on_exports(stop); }};
}

void Rest::work(const std::stop_token& stop) {
  while (auto job = jobs_.pop(stop)) {
    if (job->reply->gone()) continue;
    const QueryWatch::Query watched{watch_, job->reply->watch()};
    answer_in_turn(*job);
  }
}

// Queries of gRPC clients may run already.
void Rest::answer_in_turn(const Job& job) {
  const auto& admitted = *std::static_pointer_cast<Admitted>(job.request.admitted);
  const auto* route = find_route(job.request.path).route;
  std::optional<QueryGate::Pass> pass;
  if (route != nullptr && route->of_server == nullptr) {
    auto entered = gate_.enter();
    if (!entered) return job.reply->send(secured(problem(503, entered.error().what)));
    pass.emplace(*std::move(entered));
  }
  ReplyStream stream{*job.reply, pass ? &*pass : nullptr, slow_};
  RestBody body{[&](const HttpResponse& head, std::string piece) {
    return stream.write(secured(head), std::move(piece));
  }};
  auto response = answer(job.request, access_, admitted.caller, body);
  if (!stream.begun()) return job.reply->send(secured(std::move(response)));
  if (response.status != 200) return;  // it is broken off
  if (const auto done = stream.end(std::move(response.body)); !done)
    log_broken(job.request, done.error());
}

void Rest::work_on_exports(const std::stop_token& stop) {
  while (auto job = exports_.pop(stop)) {
    const auto& admitted = *std::static_pointer_cast<Admitted>(job->request.admitted);
    job->reply->send(secured(answer_otlp(job->request, *admitted.caller.tenant)));
  }
}

net::HttpAdmission Rest::admit_export(const HttpRequest& head) {
  auto admitted = std::make_shared<Admitted>();
  net::HttpAdmission admission{.body_limit = kMostOtlpBytes, .admitted = admitted};
  const auto refuse = [&](HttpResponse refusal) {
    admission.refusal = secured(std::move(refusal));
    return admission;
  };
  if (site::from_foreign_page(head, false))
    return refuse(problem(403, "this request does not come from a page of this server"));
  switch (access_.check(head.field("Authorization").value_or(""), Scope::kIngest,
                        head.method + " " + head.target, head.peer.address, admitted->caller)) {
    case Access::Answer::kYes:
      if (admitted->caller.tenant == nullptr)
        return refuse(problem(403, "the token is of no tenant"));
      admission.known = access_.tokens.required();
      return admission;
    case Access::Answer::kWrongScope:
      return refuse(problem(403, "the token does not have the scope ingest"));
    case Access::Answer::kNoTenant:
      return refuse(problem(403, "the tenant of the token does not exist"));
    case Access::Answer::kNoToken:
      break;
  }
  auto refusal = problem(401, "send the header Authorization: Bearer TOKEN");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer"});
  return refuse(std::move(refusal));
}

// Who sent this head, or the answer that refuses it.
std::optional<HttpResponse> Rest::identify(const HttpRequest& head, Caller& caller) {
  const auto authorization = head.field("Authorization");
  // Pages ask for it every few seconds: there would be nothing else in the log.
  const auto what = head.path == "/fleet/status" ? "" : head.method + " " + head.target;
  const auto scope = is_change(head) ? Scope::kAdmin : Scope::kRead;
  const auto visit =
      !authorization && access_.tokens.required() ? visits_.find(head) : std::nullopt;
  const auto answer =
      visit ? access_.check_visit(visit->name, visit->key, scope, what, head.peer.address, caller)
            : access_.check(authorization.value_or(""), scope, what, head.peer.address, caller);
  switch (answer) {
    case Access::Answer::kYes:
      return std::nullopt;
    case Access::Answer::kWrongScope:
      return problem(403, scope == Scope::kAdmin ? "the token does not have the scope admin"
                                                 : "the token does not have the scope read");
    case Access::Answer::kNoTenant:
      return problem(403, "the tenant of the token does not exist");
    case Access::Answer::kNoToken:
      break;
  }
  auto refusal = problem(401, "send the header Authorization: Bearer TOKEN");
  refusal.fields.push_back({"WWW-Authenticate", "Bearer"});
  return refusal;
}

net::HttpAdmission Rest::admit(const HttpRequest& head) {
  auto admitted = std::make_shared<Admitted>();
  net::HttpAdmission admission{.body_limit = 0, .admitted = admitted};
  const auto refuse = [&](HttpResponse refusal) {
    admission.refusal = secured(std::move(refusal));
    return admission;
  };
  const auto match = find_route(head.path);
  // A page of another site must not read what a token-free server on loopback answers.
  if (!access_.tokens.required() && head.path != "/health" && head.path != "/health/ready" &&
      !net::local_host_field(head.field("Host"), {}))
    return refuse(problem(403, "the Host header must name this machine"));
  if (head.path == kOtlpTraces) return admit_export(head);
  if (match.route && match.route->open) {
    admission.health = head.path == "/health";
    return admission;
  }
  if (head.path.starts_with(kAssets)) return admission;
  admitted->is_page = wants_page(head) || head.path == "/";
  if (site::from_foreign_page(head, admitted->is_page || head.path == "/sign-in"))
    return refuse(problem(403, "this request does not come from a page of this server",
                          "a page of another site may link to pages of this one, no more"));
  if (is_sign_in(head.path)) {
    admission.body_limit = kFormLimit;
    return admission;
  }
  if (auto refusal = identify(head, admitted->caller))
    return refuse(site::refusal_page(visits_, head, "", head.target, std::move(*refusal)));
  admission.known = access_.tokens.required();
  if (is_change(head)) {
    // Browsers send cookies by themselves: only a page of ours may change something with one.
    if (admitted->caller.signed_in && !site::from_own_page(head))
      return refuse(problem(403, "a change must come from a page of this server"));
    admission.body_limit = kChangeLimit;
  }
  return admission;
}

std::optional<HttpResponse> Rest::answer_at_once(const HttpRequest& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (request.path == "/sign-in" && reads) return site::sign_in(visits_, request, "");
  if (request.path == "/sign-in/key" && request.method == "POST")
    return site::sign_in_by_key(visits_, request, "");
  if (request.path == "/sign-out" && request.method == "POST")
    return site::sign_out(visits_, request, "");
  if (is_sign_in(request.path)) return problem(405, request.path + " is not for " + request.method);
  if (request.path.starts_with(kAssets)) {
    auto asset = site::asset_answer(request, request.path.substr(kAssets.size()));
    return asset ? *std::move(asset) : problem(asset.error());
  }
  const auto& admitted = *std::static_pointer_cast<Admitted>(request.admitted);
  if (!admitted.is_page) {
    const auto* route = find_route(request.path).route;
    if (route == nullptr || !route->at_once) return std::nullopt;
    return answer(request, access_, admitted.caller);
  }
  if (request.path != "/") return shell(request);
  return HttpResponse{.status = 303, .type = "", .fields = {{"Location", std::string{kHome}}}};
}

Result<std::unique_ptr<Rest>> Rest::start(const net::HttpEndpoint& endpoint, Access access,
                                          QueryGate& gate) {
  std::unique_ptr<Rest> rest{new Rest{access, gate}};  // its constructor is private
  net::HttpServerSetting setting{.endpoints = {endpoint}, .stream_buffer = kAhead};
  setting.admit = [raw = rest.get()](const HttpRequest& head) { return raw->admit(head); };
  rest->server_ = TRY(net::HttpServer::start(
      std::move(setting), [raw = rest.get()](HttpRequest request, net::HttpReply reply) {
        if (auto now = raw->answer_at_once(request)) return reply.send(secured(*std::move(now)));
        Job job{std::move(request), std::make_shared<net::HttpReply>(std::move(reply))};
        const auto shared = job.reply;
        auto& queue = job.request.path == kOtlpTraces ? raw->exports_ : raw->jobs_;
        if (!queue.try_push(std::move(job)))
          shared->send(secured(problem(503, "too many queries are waiting: retry later")));
      }));
  return rest;
}

}  // namespace clrscope::fleet
