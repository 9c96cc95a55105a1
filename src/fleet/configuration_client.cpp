#include "fleet/configuration_client.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <clrscope/fleet/v1/agents.grpc.pb.h>
#include "base/log.h"
#include "base/private_folder.h"
#include "fleet/configuration.h"
#include "fleet/connection.h"

namespace clrscope::fleet {
namespace {

constexpr std::chrono::seconds kAskEvery{5};
constexpr std::chrono::seconds kPatience{5};
constexpr const char* kFile = "configuration.json";
constexpr std::size_t kLargestFile = 1 << 20;

struct Held {
  std::uint64_t version = 0;
  ProfileSettings settings{};
  bool operator==(const Held&) const = default;
};

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return bytes;
}

void write_held(JsonWriter& json, const Held& held) {
  json.member("version", held.version);
  write_settings(json, held.settings);
}

std::string line_of(const Held& held) {
  JsonWriter json;
  json.begin_object().key("configuration").begin_object();
  write_held(json, held);
  json.end_object().end_object();
  return std::move(json).take() + '\n';
}

}  // namespace

class ConfigurationClient::Impl {
 public:
  Impl(ConfigurationClientSetting setting, Connection connection)
      : setting_(std::move(setting)),
        connection_(std::move(connection)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Impl() {
    thread_.request_stop();
    const std::lock_guard lock{mutex_};
    if (context_ != nullptr) context_->TryCancel();
  }

  void note_state(std::string_view text) {
    const auto json = read_json(text);
    if (!json || json->object() == nullptr) return;
    const std::lock_guard lock{mutex_};
    request_.emplace();
    request_->set_host(text_at(*json, "host"));
    request_->set_service(text_at(*json, "service"));
    request_->set_instance(bytes_of(text_at(*json, "instance")));
    request_->set_applied_version(count_at(*json, "configuration"));
    request_->set_trouble(text_at(*json, "trouble"));
    ++told_;
    changed_.notify_all();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, stop, [&] { return request_.has_value(); });
    if (!request_) return;
    const auto service = request_->service();
    lock.unlock();
    // At once, before the server is asked: clrscope waits for a line before it begins.
    held_ = kept(service);
    setting_.on_change(line_of(held_));
    const auto channel = connection_.channel();
    while (!stop.stop_requested()) {
      v1::ConfigurationRequest request;
      std::uint64_t told = 0;
      {
        const std::lock_guard again{mutex_};
        request = *request_;
        told = told_;
      }
      ask(channel, request, stop);
      std::unique_lock waiting{mutex_};
      changed_.wait_for(waiting, stop, kAskEvery, [&] { return told_ != told; });
    }
  }

  void ask(const std::shared_ptr<grpc::Channel>& channel, const v1::ConfigurationRequest& request,
           const std::stop_token& stop) {
    grpc::ClientContext context;
    connection_.authorize(context);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    {
      const std::lock_guard lock{mutex_};
      if (stop.stop_requested()) return;
      context_ = &context;
    }
    v1::ConfigurationAnswer answer;
    const auto status = v1::Agents::NewStub(channel)->Configuration(&context, request, &answer);
    {
      const std::lock_guard lock{mutex_};
      context_ = nullptr;
    }
    // An older server has no configurations; one that is away has the last one: go on with it.
    if (!status.ok()) return;
    Held next{.version = answer.version()};
    next.settings.include.assign(answer.include().begin(), answer.include().end());
    next.settings.exclude.assign(answer.exclude().begin(), answer.exclude().end());
    if (answer.has_sample()) next.settings.sample = answer.sample();
    if (answer.budget_percent() > 0) next.settings.budget_percent = answer.budget_percent();
    if (next == held_) return;
    held_ = next;
    keep(request.service());
    setting_.on_change(line_of(held_));
  }

  Held kept(const std::string& service) const {
    if (setting_.folder.empty()) return {};
    const auto folder = open_private_folder(setting_.folder);
    if (!folder) return {};
    const auto text = read_private_file(folder->get(), kFile, kLargestFile);
    if (!text) return {};
    const auto json = read_json(*text);
    if (!json || text_at(*json, "service") != service) return {};
    const auto settings = read_settings(*json, Include::kOptional);
    if (!settings) return {};
    return {.version = count_at(*json, "version"), .settings = *settings};
  }

  void keep(const std::string& service) const {
    if (setting_.folder.empty()) return;
    JsonWriter json;
    json.begin_object().member("service", service);
    write_held(json, held_);
    json.end_object();
    const auto folder = open_private_folder(setting_.folder);
    const auto done = folder ? replace_private_file(folder->get(), kFile, json.text())
                             : Result<>{fail(folder.error())};
    if (!done) log(LogLevel::kWarning, "cannot keep the configuration: {}", done.error().what);
  }

  const ConfigurationClientSetting setting_;
  const Connection connection_;
  Held held_;  // of the thread
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<v1::ConfigurationRequest> request_;
  std::uint64_t told_ = 0;
  grpc::ClientContext* context_ = nullptr;
  std::jthread thread_;  // last member: joins first
};

ConfigurationClient::ConfigurationClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ConfigurationClient::~ConfigurationClient() = default;
void ConfigurationClient::note_state(std::string_view json) { impl_->note_state(json); }

Result<std::unique_ptr<ConfigurationClient>> ConfigurationClient::start(
    ConfigurationClientSetting setting) {
  auto connection = TRY(connect_to(setting.to, setting.ca_file, setting.token_file));
  auto impl = std::make_unique<Impl>(std::move(setting), std::move(connection));
  return std::unique_ptr<ConfigurationClient>{new ConfigurationClient{std::move(impl)}};
}

}  // namespace clrscope::fleet
