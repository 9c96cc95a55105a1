// A route: what it is called, who may use it, what it answers. Groups of them are files in routes/,
// listed in routes.inc; openapi.json is made from these tables.
//
// A handler runs on a worker thread, where it may wait, or at once on the server's, where it may
// not. Streams that last (server-sent events) must not keep a worker: hand the HttpStream to
// whoever feeds it and return.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "http/load.h"
#include "http/scope.h"
#include "net/http_server.h"
#include "site/answer.h"
#include "site/openapi.h"

namespace clrscope::http {

struct Services;
struct Route;

using net::HttpResponse;
using namespace site;  // what every server answers browsers with: JSON, problems, pages

// What was decided when only the head was there.
struct Admitted {
  const Route* route = nullptr;
  std::vector<std::string> path_values{};  // of {braces}, in order
  Caller caller{};
  std::string type{};                   // the media type to answer with, one of the route's
  std::string base_path{};              // before every link: "/clrscope", or empty
  std::string text_link{};              // of a page: where it can be read without a script
  std::string process{};                // that it turned out to be about; for the audit log
  bool repeated = false;                // the same was asked lately: no line in the audit log
  std::shared_ptr<void> place{};        // among those under way: see limits.h
  std::string upload{};                 // the file that the body went to; for routes with `upload`
  std::shared_ptr<void> upload_file{};  // which is removed with the last of these
};

// One request and the right to answer it. Moved to whoever answers.
class Call {
 public:
  Call(Services& services, net::HttpRequest request, net::HttpReply reply);
  Call(Call&&) noexcept;
  ~Call();

  Services& services() const { return services_; }
  const net::HttpRequest& request() const { return request_; }
  const Caller& caller() const { return admitted_->caller; }
  const Admitted& admitted() const { return *admitted_; }
  // The media type that was agreed on.
  std::string_view type() const { return admitted_->type; }
  bool wants(std::string_view type) const { return admitted_->type == type; }
  // Of a {brace} of the path, decoded.
  const std::string& path_value(std::string_view name) const;

  // Query parameters. Wrong ones are errors that name the parameter.
  std::optional<std::string> text(std::string_view name) const;
  Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t least,
                                             std::int64_t most) const;
  Result<bool> truth(std::string_view name, bool otherwise) const;

  // Whether the caller may have `what`, beyond what its route asks for: an error that says so.
  Result<> need(Scope scope, std::string_view what) const;

  // Which process it is about, for the audit log.
  void note_process(std::string text) const { admitted_->process = std::move(text); }

  // That it is one of many that ask the same: the audit log has the first.
  void note_repeated() const { admitted_->repeated = true; }

  // A path of ours as a client must ask for it: with the base path.
  std::string link(std::string_view path) const;

  // Answers. Once.
  void send(HttpResponse response);
  void send(const Error& error);
  std::shared_ptr<net::HttpStream> stream(HttpResponse head);
  bool gone() const { return reply_.gone(); }

 private:
  Services& services_;
  net::HttpRequest request_;
  net::HttpReply reply_;
  std::shared_ptr<Admitted> admitted_;
};

// A value of a parameter that needs another scope than its route.
struct ValueScope {
  std::string_view value;
  Scope scope = Scope::kAdmin;
};

struct Parameter {
  using In = site::ApiParameter::In;
  std::string_view name;
  std::string_view type;  // "integer", "string", "boolean", "number"
  std::string_view help;
  In in = In::kQuery;
  std::span<const ValueScope> scopes{};
};

// kLong: on threads for what lasts or waits for slow clients, such as recordings and downloads.
enum class Runs : std::uint8_t { kWorker, kAtOnce, kLong };

// What a JSON value looks like: value_shape<T>.
using JsonShape = const ValueShape& (*)();

// One kind of server-sent event.
struct StreamEvent {
  std::string_view name;
  JsonShape data = nullptr;  // none: it is not described
  bool gaps = false;         // a live::LiveGap may come in its place
};

struct Route {
  std::string_view method;  // "GET"
  std::string_view path;    // "/sessions/{id}/stop"
  Scope scope = Scope::kAdmin;
  std::string_view summary;  // a sentence, for openapi.json
  std::string_view types{};  // "application/json text/plain": what Accept chooses from; the first
                             // when it does not care
  std::span<const Parameter> parameters{};
  // Exactly one of these two.
  Result<HttpResponse> (*answer)(Call& call) = nullptr;
  void (*serve)(Call call) = nullptr;
  JsonShape json = nullptr;               // of application/json
  JsonShape line = nullptr;               // of each line of NDJSON and JSON sequences
  std::span<const StreamEvent> events{};  // of server-sent events
  JsonShape body = nullptr;               // of the JSON body; none: none is taken
  Runs runs = Runs::kWorker;
  Load load = Load::kRequest;
  Limit running{};                // of what it starts and leaves running when it has answered
  std::string_view live_types{};  // those of `types` that are answered as a live stream
  std::uint64_t body_limit = 64 << 10;
  bool upload = false;  // the body goes to a file (Admitted::upload), up to the disk's limit
  std::string_view statuses{};  // "404 429": beside 200; with 201, 202 or 204 in place of it
  bool hidden = false;          // not in openapi.json: the web app and its files
};

// What an answer of that type costs: a stream if it is live, else what the route says.
Load load_of(const Route& route, std::string_view type);

using Routes = std::span<const Route>;
std::span<const Routes> route_groups();

}  // namespace clrscope::http
