#include "fleet/rest.h"

#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "fleet/convert.h"

namespace clrscope::fleet {
namespace {

using net::HttpRequest;
using net::HttpResponse;

HttpResponse problem(int status, std::string_view what, std::string_view hint = {}) {
  JsonWriter json;
  json.begin_object().member("status", status).member("title", net::status_text(status));
  json.member("detail", what);
  if (!hint.empty()) json.member("hint", hint);
  json.end_object();
  return {.status = status, .type = "application/problem+json", .body = std::move(json).take()};
}

HttpResponse problem(const Error& error) {
  const int status = error.code == Errc::kUsage      ? 400
                     : error.code == Errc::kNotFound ? 404
                     : error.code == Errc::kTooLarge ? 413
                                                     : 503;
  return problem(status, error.what, error.hint);
}

HttpResponse json_answer(std::string body) {
  return {.type = "application/json",
          .fields = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}},
          .body = std::move(body)};
}

Result<double> number_at(const HttpRequest& request, std::string_view name, double otherwise) {
  const auto text = request.parameter(name);
  if (!text) return otherwise;
  double value = 0;
  const auto [end, bad] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (bad != std::errc{} || end != text->data() + text->size() || !std::isfinite(value))
    return fail(Errc::kUsage, "{} must be a number, not {}", name, *text);
  return value;
}

// from and to: unix seconds, with a fraction if need be; or last: a duration such as 15m.
Result<store::TimeRange> range_at(const HttpRequest& request) {
  constexpr double kMost = 9e9;  // the year 2255
  store::TimeRange range;
  const auto from = TRY(number_at(request, "from", 0)), to = TRY(number_at(request, "to", kMost));
  if (from < 0 || to < from || to > kMost)
    return fail(Errc::kUsage, "from and to must be unix seconds, from before to");
  range.from = static_cast<std::int64_t>(from * 1e9);
  if (to < kMost) range.to = static_cast<std::int64_t>(to * 1e9);
  if (const auto last = request.parameter("last"))
    range.from = (wall_now().time_since_epoch() - TRY(parse_duration(*last))).count();
  return range;
}

Result<store::Selection> selection_at(const HttpRequest& request) {
  store::Selection selection{.range = TRY(range_at(request)),
                             .service = request.parameter("service").value_or(""),
                             .route = request.parameter("route").value_or(""),
                             .host = request.parameter("host").value_or(""),
                             .version = request.parameter("version").value_or("")};
  if (selection.service.empty())
    return fail(Errc::kUsage, "service is required").hint("see /fleet/services");
  const auto status = request.parameter("status").value_or("");
  if (status.empty()) return selection;
  // "500", "500-599" or "5xx"
  const auto dash = status.find('-');
  const bool is_class = status.size() == 3 && status.ends_with("xx");
  const auto low = parse_number(is_class ? status.substr(0, 1) : status.substr(0, dash));
  const auto high = dash == std::string::npos ? low : parse_number(status.substr(dash + 1));
  if (!low || !high || *high > 999)
    return fail(Errc::kUsage, "status must be such as 404, 500-599 or 5xx, not {}", status);
  selection.status_from = static_cast<std::uint32_t>(is_class ? *low * 100 : *low);
  selection.status_to = static_cast<std::uint32_t>(is_class ? *low * 100 + 99 : *high);
  return selection;
}

template <class T>
std::string in_object(std::string_view name, const std::vector<T>& values) {
  JsonWriter json;
  json.begin_object().key(name).raw(json_text(values)).end_object();
  return std::move(json).take();
}

Result<std::string> services(const HttpRequest& request, store::Store& store) {
  const auto range = TRY(range_at(request));
  return in_object("services", TRY(store.services(range)));
}

Result<std::string> routes(const HttpRequest& request, store::Store& store) {
  const auto selection = TRY(selection_at(request));
  std::chrono::nanoseconds step{};
  if (const auto text = request.parameter("step")) step = TRY(parse_duration(*text));
  return in_object("routes", TRY(store.routes(selection, step)));
}

Result<std::string> flame(const HttpRequest& request, store::Store& store) {
  const store::FlameQuery query{.selection = TRY(selection_at(request)),
                                .from_percentile = TRY(number_at(request, "fromPercentile", 0)),
                                .to_percentile = TRY(number_at(request, "toPercentile", 100))};
  return json_text(TRY(store.flame(query)));
}

Result<std::string> requests(std::string_view trace, store::Store& store) {
  const auto id = TRY(parse_trace_id(trace));
  const auto found = TRY(store.find(id));
  if (found.empty()) return fail(Errc::kNotFound, "no sampled request has the trace id {}", trace);
  return in_object("requests", found);
}

Result<std::string> hosts(store::Store& store) { return in_object("hosts", TRY(store.hosts())); }

}  // namespace

HttpResponse Rest::answer(const HttpRequest& request, store::Store& store) {
  constexpr std::string_view kRequests = "/fleet/requests/";
  if (request.method != "GET") return problem(405, "only GET is allowed");
  const auto done = [](Result<std::string> body) {
    return body ? json_answer(*std::move(body)) : problem(body.error());
  };
  const auto& path = request.path;
  if (path == "/health") return json_answer(R"({"status":"ok"})");
  if (path == "/fleet/services") return done(services(request, store));
  if (path == "/fleet/routes") return done(routes(request, store));
  if (path == "/fleet/flame") return done(flame(request, store));
  if (path == "/fleet/hosts") return done(hosts(store));
  if (path.starts_with(kRequests)) return done(requests(path.substr(kRequests.size()), store));
  return problem(404, "no such route: " + path,
                 "routes: /fleet/services /fleet/routes /fleet/flame /fleet/requests/{traceId} "
                 "/fleet/hosts /health");
}

Rest::Rest(store::Store& store, Access access) : store_(store), access_(access) {
  for (auto& worker : workers_)
    worker = std::jthread{[this](const std::stop_token& stop) { work(stop); }};
}

void Rest::work(const std::stop_token& stop) {
  while (auto job = jobs_.pop(stop))
    if (!job->reply->gone()) job->reply->send(answer(job->request, store_));
}

net::HttpAdmission Rest::admit(const HttpRequest& head) const {
  net::HttpAdmission admission{.body_limit = 0};
  if (head.path == "/health") {
    admission.health = true;
    return admission;
  }
  const auto word = head.field("Authorization").value_or("");
  const auto what = head.method + " " + head.target;
  switch (access_.check(word, Scope::kRead, what, head.peer.address)) {
    case Access::Answer::kYes:
      admission.known = access_.tokens.required();
      break;
    case Access::Answer::kNoToken:
      admission.refusal = problem(401, "send the header Authorization: Bearer TOKEN");
      admission.refusal->fields.push_back({"WWW-Authenticate", "Bearer"});
      break;
    case Access::Answer::kWrongScope:
      admission.refusal = problem(403, "the token does not have the scope read");
      break;
  }
  // A page of another site must not read what a token-free server on loopback answers.
  if (!access_.tokens.required() && !net::local_host_field(head.field("Host"), {}))
    admission.refusal = problem(403, "the Host header must name this machine");
  return admission;
}

Result<std::unique_ptr<Rest>> Rest::start(const net::HttpEndpoint& endpoint, store::Store& store,
                                          Access access) {
  std::unique_ptr<Rest> rest{new Rest{store, access}};  // its constructor is private
  net::HttpServerSetting setting{.endpoints = {endpoint}};
  setting.admit = [raw = rest.get()](const HttpRequest& head) { return raw->admit(head); };
  rest->server_ = TRY(net::HttpServer::start(
      std::move(setting), [raw = rest.get()](HttpRequest request, net::HttpReply reply) {
        Job job{std::move(request), std::make_shared<net::HttpReply>(std::move(reply))};
        const auto shared = job.reply;
        if (!raw->jobs_.try_push(std::move(job)))
          shared->send(problem(503, "too many queries are waiting: retry later"));
      }));
  return rest;
}

}  // namespace clrscope::fleet
