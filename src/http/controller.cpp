#include "http/controller.h"

#include <unistd.h>

#include "archive/examinations.h"
#include "archive/operations.h"
#include "archive/recordings.h"
#include "archive/request_runs.h"
#include "archive/sessions.h"
#include "archive/state_folder.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/text.h"
#include "http/access.h"
#include "http/audit.h"
#include "http/exposure.h"
#include "http/keys.h"
#include "http/limits.h"
#include "http/processes.h"
#include "http/router.h"
#include "http/services.h"
#include "http/shell.h"
#include "http/workers.h"
#include "live/agents.h"
#include "live/metrics.h"
#include "live/watch.h"
#include "net/http_server.h"
#include "ops/processes.h"
#include "ops/runtimes.h"
#include "site/accept.h"
#include "site/answer.h"
#include "site/origin.h"
#include "site/sign_in.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kWorkers = 64;
constexpr std::size_t kLasting = 256;  // recordings and downloads under way
constexpr std::chrono::seconds kPatience{2};

// What the address of --metric-urls answers.
bool is_for_monitoring(std::string_view path) {
  return path == "/metrics" || path.starts_with("/metrics/") || path == "/health" ||
         path.starts_with("/health/");
}

// Uses of these are not worth a line: there would be nothing else.
bool is_audited(const Route& route) {
  return !route.path.starts_with("/metrics") && !route.path.starts_with("/health") &&
         !route.path.starts_with("/assets") && route.path != "/openapi.json" &&
         route.path != "/status";
}

// What was asked for, as it was sent, without the base path: for links.
std::string_view own_target(const net::HttpRequest& head, std::string_view path,
                            std::string_view base) {
  const std::string_view target = head.target;
  const bool below = path.size() != head.path.size() && target.starts_with(base);
  return below ? target.substr(base.size()) : target;
}

void answer(Call& call) {
  const auto& route = *call.admitted().route;
  if (route.serve) return route.serve(std::move(call));
  auto response = route.answer(call);
  if (response)
    call.send(*std::move(response));
  else
    call.send(response.error());
}

}  // namespace

struct Controller::Impl {
  Impl(ServeSetting chosen, std::shared_ptr<ops::Runtimes> connected)
      : setting(std::move(chosen)), runtimes(std::move(connected)) {}

  net::HttpAdmission admit(const net::HttpRequest& head, bool metrics_only);
  void answered(const net::HttpRequest& outline, const net::HttpOutcome& outcome);
  void handle(net::HttpRequest request, net::HttpReply reply);
  Result<> listen(const std::vector<std::string>& urls, bool metrics_only);
  void warn_of_anonymous(const std::string& url);
  live::RequestRate request_rate(const Process& process) const;
  // The path without the base path; nothing when it is not below it.
  std::optional<std::string> own_path(const net::HttpRequest& head, std::string& base) const;

  ServeSetting setting;
  std::shared_ptr<ops::Runtimes> runtimes;
  std::string folder = archive::state_folder_path(setting.folder);
  Keys keys{folder};
  Access access{setting, keys};
  Limits limits;
  Audit audit{{.folder = archive::make_state_folder(folder) ? folder : ""}};
  Processes processes{setting, runtimes};
  Router router{route_groups()};
  archive::Operations operations;
  archive::Recordings recordings{setting};
  archive::Sessions sessions{recordings, operations};
  archive::Examinations examinations{setting, operations};
  archive::RequestRuns request_runs{operations, recordings, setting};
  live::Live live{live::LiveSetting{.limits = {.keep = setting.keep_live}}};
  live::Watch watch{{.list = [this] { return processes.list(); },
                     .reach = [this](const Process& one) { return processes.target(one); },
                     .requests = [this](const Process& one) { return request_rate(one); }}};
  live::LiveMetrics metrics{
      live, [this] { return processes.list(); },
      [this](const Process& one) { return processes.target(one); },
      [this] { return watch.findings().value_or(std::vector<live::CurrentFinding>{}); }};
  live::Agents agents;
  Workers workers{kWorkers};
  Workers lasting{kLasting, 16};
  Services services{.setting = setting,
                    .access = access,
                    .limits = limits,
                    .workers = workers,
                    .processes = processes,
                    .router = router,
                    .audit = audit,
                    .operations = operations,
                    .recordings = recordings,
                    .sessions = sessions,
                    .examinations = examinations,
                    .request_runs = request_runs,
                    .live = live,
                    .metrics = metrics,
                    .watch = watch,
                    .agents = agents};
  std::vector<Exposed> exposed;
  std::vector<std::string> warnings;
  std::shared_ptr<net::TlsContext> tls;
  std::vector<std::unique_ptr<net::HttpServer>> servers;  // last member: stops first
};

// By its counters, or by a profile of its requests that runs.
live::RequestRate Controller::Impl::request_rate(const Process& process) const {
  auto rate = live.request_rate({process.pid, processes.target(process)});
  if (rate.per_second) return rate;
  for (const auto& run : request_runs.list())
    if (run.running() && run.process.pid == process.pid && run.process.uid == process.uid &&
        run.duration >= std::chrono::seconds{1})
      return {.per_second = static_cast<double>(run.seen) /
                            std::chrono::duration<double>(run.duration).count()};
  return rate;
}

std::optional<std::string> Controller::Impl::own_path(const net::HttpRequest& head,
                                                      std::string& base) const {
  base = setting.base_path;
  if (head.peer.uid)
    if (const auto told = head.field("X-Clrscope-Base")) {
      base = std::string{*told};
      return head.path;  // whoever forwards it took it off
    }
  if (base.empty() || !head.path.starts_with(base)) return head.path;
  auto rest = head.path.substr(base.size());
  if (!rest.empty() && !rest.starts_with('/')) return head.path;
  return rest.empty() ? "/" : rest;
}

net::HttpAdmission Controller::Impl::admit(const net::HttpRequest& head, bool metrics_only) {
  auto admitted = std::make_shared<Admitted>();
  const auto refuse = [&](HttpResponse response) {
    add_security_fields(response);
    const auto& caller = admitted->caller.name;
    audit.note({.time = wall_now(),
                .caller = caller.empty() ? "nobody" : caller,
                .address = head.peer.address,
                .method = head.method,
                .target = without_secrets(head.target),
                .status = response.status,
                .bytes = response.body.size()});
    return net::HttpAdmission{.refusal = std::move(response)};
  };
  if (is_stranger(head) && !net::local_host_field(head.field("Host"), setting.hosts))
    return refuse(problem(421, "the Host field names no host of this server",
                          "serve --hosts NAME allows one"));
  const auto path = own_path(head, admitted->base_path);
  if (metrics_only && !is_for_monitoring(*path))
    return refuse(problem(404, "this address answers only /metrics and /health"));
  auto match = router.find(head.method, *path);
  const auto accept = accept_of(head);
  const auto target = own_target(head, *path, admitted->base_path);
  const bool reads = head.method == "GET" || head.method == "HEAD";
  const Route* shell = nullptr;
  if (reads && !metrics_only && (match.route || match.allowed.empty() || is_page(*path)))
    shell = shell_route(*path, match.route, accept);
  if (shell) admitted->text_link = text_link(admitted->base_path, target, match.route);
  if (!match.route && !shell) {
    if (match.allowed.empty())
      return refuse(problem(404, fmt::format("there is no {}", *path), "/openapi.json tells all"));
    auto response = problem(405, fmt::format("{} is not for {}", *path, head.method));
    response.fields.push_back({"Allow", match.allowed});
    return refuse(std::move(response));
  }
  const auto& route = shell ? *shell : *match.route;
  admitted->type = best_type(route.types, accept);
  if (from_foreign_page(head, admitted->type == kHtml || route.path == "/sign-in"))
    return refuse(problem(403, "this request does not come from a page of this server",
                          "a page of another site may link to pages of this one, no more"));
  const bool known = shell || route.scope != Scope::kOpen;  // a page needs a caller, but no scope
  if (known) {
    auto who = access.identify(head);
    if (auto* refusal = std::get_if<HttpResponse>(&who))
      return refuse(metrics_only ? std::move(*refusal)
                                 : site::refusal_page(access.visits(), head, admitted->base_path,
                                                      target, std::move(*refusal)));
    admitted->caller = std::get<Caller>(std::move(who));
    if (!admitted->caller.scopes.has(route.scope))
      return refuse(problem(403, fmt::format("{} needs the scope {}", *path, name_of(route.scope)),
                            fmt::format("yours are: {}", text_of(admitted->caller.scopes))));
  }
  if (admitted->type.empty() && !route.types.empty())
    return refuse(problem(406, fmt::format("{} answers {}", *path, route.types)));
  auto place = limits.enter(load_of(route, admitted->type), admitted->caller.name);
  if (const auto* full = std::get_if<Limits::Full>(&place))
    return refuse(problem(full_error(*full)));
  admitted->place = std::get<Limits::Place>(std::move(place));
  admitted->route = &route;
  admitted->path_values = std::move(match.values);
  if (!route.upload)
    return {.body_limit = route.body_limit,
            .admitted = std::move(admitted),
            .known = known,
            .health = route.load == Load::kHealth};
  auto upload = recordings.upload();
  if (!upload) return refuse(problem(507, upload.error().what, upload.error().hint));
  admitted->upload = (*upload)->path;
  admitted->upload_file = *upload;
  return {.body_limit = (*upload)->room,
          .body_to =
              [file = *upload](std::string_view bytes) { return file->write(bytes).has_value(); },
          .body_refusal = [file = *upload]() -> std::optional<HttpResponse> {
            if (!file->error) return std::nullopt;
            auto refusal = problem(*file->error);
            add_security_fields(refusal);
            return refusal;
          },
          .admitted = std::move(admitted),
          .known = known};
}

void Controller::Impl::answered(const net::HttpRequest& outline, const net::HttpOutcome& outcome) {
  const auto& admitted = *std::static_pointer_cast<Admitted>(outline.admitted);
  if (!is_audited(*admitted.route) || admitted.repeated) return;
  const auto& caller = admitted.caller.name;
  audit.note({.time = wall_now(),
              .caller = caller.empty() ? "nobody" : caller,
              .address = outline.peer.address,
              .method = outline.method,
              .target = without_secrets(outline.target),
              .process = admitted.process,
              .status = outcome.status,
              .bytes = outcome.bytes,
              .took = outcome.took});
}

void Controller::Impl::handle(net::HttpRequest request, net::HttpReply reply) {
  Call call{services, std::move(request), std::move(reply)};
  if (call.admitted().route->runs == Runs::kAtOnce) return answer(call);
  const auto shared = std::make_shared<Call>(std::move(call));
  auto& threads = shared->admitted().route->runs == Runs::kLong ? lasting : workers;
  if (threads.run([shared] { answer(*shared); })) return;
  auto busy = problem(429, "too many requests wait already");
  busy.fields.push_back({"Retry-After", "1"});
  shared->send(std::move(busy));
}

// Open to the network by the administrator's choice: said aloud, and kept.
void Controller::Impl::warn_of_anonymous(const std::string& url) {
  warnings.push_back(fmt::format(
      "warning: no key is needed at {}: everybody who reaches it may {}", url,
      setting.read_only ? "look at the programs"
                        : "record and dump the programs, and read their memory and environment"));
  audit.note({.time = wall_now(),
              .caller = user_name(::geteuid()),
              .address = url,
              .method = "SERVE",
              .target = "--no-auth-remote"});
}

Result<> Controller::Impl::listen(const std::vector<std::string>& urls, bool metrics_only) {
  if (urls.empty()) return {};
  net::HttpServerSetting server;
  std::vector<bool> by_tls;
  std::vector<bool> local;
  for (const auto& url : urls) {
    const auto endpoint = TRY(parse_url(url));
    TRY(check_exposure(endpoint, setting));
    if (endpoint.tls && !tls)
      tls = TRY(net::TlsContext::server(
          {.certificate = setting.certificate, .key = setting.certificate_key}));
    server.endpoints.push_back({.address = endpoint.address, .tls = endpoint.tls ? tls : nullptr});
    by_tls.push_back(endpoint.tls);
    local.push_back(endpoint.loopback);
  }
  server.threads = 2;
  server.admit = [this, metrics_only](const net::HttpRequest& head) {
    return admit(head, metrics_only);
  };
  server.answered = [this](const net::HttpRequest& outline, const net::HttpOutcome& outcome) {
    answered(outline, outcome);
  };
  auto started = TRY(net::HttpServer::start(std::move(server),
                                            [this](net::HttpRequest request, net::HttpReply reply) {
                                              handle(std::move(request), std::move(reply));
                                            }));
  for (std::size_t i = 0; i < started->addresses().size(); ++i) {
    const auto& address = started->addresses()[i];
    if (setting.no_auth && !local[i]) warn_of_anonymous(url_of(address, by_tls[i]));
    exposed.push_back({.url = url_of(address, by_tls[i]),
                       .metrics_only = metrics_only,
                       .needs_key = address.path.empty() && !setting.no_auth});
  }
  servers.push_back(std::move(started));
  return {};
}

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Controller::~Controller() {
  for (auto& server : impl_->servers) server->stop(kPatience);
}

Result<std::unique_ptr<Controller>> Controller::start(ServeSetting setting) {
  std::shared_ptr<ops::Runtimes> runtimes;
  if (!setting.diagnostic_port.empty())
    runtimes = TRY(ops::Runtimes::listen(setting.diagnostic_port));
  if (setting.visible.owner)
    setting.visible.owner_name = ops::application_of(*setting.visible.owner).value_or("");
  auto impl = std::make_unique<Impl>(std::move(setting), std::move(runtimes));
  if (const auto made = archive::make_state_folder(impl->folder); !made)
    impl->warnings.push_back("nothing can be kept: " + made.error().what);
  if (const auto read = impl->keys.refresh(wall_now()); !read)
    impl->warnings.push_back(read.error().what);
  TRY(impl->listen(impl->setting.urls, false));
  if (const auto done = impl->listen(impl->setting.metric_urls, true); !done)
    impl->warnings.push_back("metrics only on the main address: " + done.error().what);
  return std::unique_ptr<Controller>{new Controller{std::move(impl)}};
}

const std::vector<Controller::Exposed>& Controller::exposed() const { return impl_->exposed; }
const std::vector<std::string>& Controller::warnings() const { return impl_->warnings; }

std::string Controller::one_time_address() {
  for (const auto& one : impl_->exposed) {
    if (!one.needs_key || one.metrics_only) continue;
    return impl_->access.visits().one_time_address(one.url, impl_->setting.base_path);
  }
  return {};
}

void Controller::tick() {
  if (const auto done = impl_->keys.refresh(wall_now()); !done) log_error(done.error());
  if (impl_->tls)
    if (const auto done = impl_->tls->refresh(); !done) log_error(done.error());
}

}  // namespace clrscope::http
