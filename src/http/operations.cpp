#include "http/operations.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kRemembered = 100;

bool is_running(const Operation& operation) {
  return operation.status == OperationStatus::kRunning ||
         operation.status == OperationStatus::kStopping;
}

bool has_tags(const Operation& operation, const std::string& wanted) {
  if (wanted.empty()) return true;
  const auto has = split(operation.tags, ',');
  const auto asked = split(wanted, ',');
  return std::ranges::all_of(asked, [&](std::string_view tag) {
    return std::ranges::any_of(has, [&](std::string_view one) { return trim(one) == trim(tag); });
  });
}

Failure no_such(const std::string& id) {
  return fail(Errc::kUsage, "there is no operation {}", id).hint("GET /operations lists them");
}

}  // namespace

std::string_view name_of(OperationStatus status) {
  switch (status) {
    case OperationStatus::kRunning:
      return "Running";
    case OperationStatus::kStopping:
      return "Stopping";
    case OperationStatus::kSucceeded:
      return "Succeeded";
    case OperationStatus::kFailed:
      return "Failed";
    case OperationStatus::kCancelled:
      return "Cancelled";
  }
  return "";
}

void write_operation(JsonWriter& json, const Operation& operation, bool whole) {
  json.begin_object();
  if (whole) {
    json.key("resourceLocation");
    if (operation.resource.empty())
      json.null();
    else
      json.value(operation.resource);
    json.key("error");
    if (operation.error.empty())
      json.null();
    else
      json.begin_object().member("message", operation.error).end_object();
  }
  json.member("operationId", operation.id)
      .member("createdDateTime", iso8601(operation.created))
      .member("status", name_of(operation.status))
      .key("egressProviderName")
      .null()
      .member("isStoppable",
              operation.stop != nullptr && operation.status == OperationStatus::kRunning);
  json.key("process");
  if (operation.process.pid == 0)
    json.null();
  else
    json.begin_object()
        .member("pid", operation.process.pid)
        .member("uid", operation.process.uid)
        .member("name", operation.process.name)
        .end_object();
  json.key("tags").begin_array();
  if (!operation.tags.empty())
    for (const auto tag : split(operation.tags, ',')) json.value(trim(tag));
  json.end_array().member("kind", operation.kind).end_object();
}

std::string new_guid() {
  std::array<unsigned char, 16> bytes{};
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

OperationHandle::~OperationHandle() { fail("it was given up"); }

void OperationHandle::succeed(std::string resource) {
  if (all_)
    std::exchange(all_, nullptr)->end(id_, OperationStatus::kSucceeded, {}, std::move(resource));
}

void OperationHandle::fail(std::string why) {
  if (all_) std::exchange(all_, nullptr)->end(id_, OperationStatus::kFailed, std::move(why), {});
}

std::unique_ptr<OperationHandle> Operations::begin(Operation operation) {
  if (operation.id.empty()) operation.id = new_guid();
  operation.created = wall_now();
  auto id = operation.id;
  all_.with([&](auto& all) {
    all.push_back(std::move(operation));
    for (auto ended = static_cast<std::size_t>(
             std::ranges::count_if(all, [](const auto& one) { return !is_running(one); }));
         ended > kRemembered; --ended)
      all.erase(std::ranges::find_if(all, [](const auto& one) { return !is_running(one); }));
  });
  return std::make_unique<OperationHandle>(*this, std::move(id));
}

std::vector<Operation> Operations::list(const Selector& selector, const std::string& tags) const {
  return all_.with([&](const auto& all) {
    std::vector<Operation> out;
    for (const auto& one : all)
      if ((!selector.any() || selector.fits(one.process)) && has_tags(one, tags))
        out.push_back(one);
    return out;
  });
}

std::optional<Operation> Operations::find(const std::string& id) const {
  return all_.with([&](const auto& all) -> std::optional<Operation> {
    const auto found =
        std::ranges::find_if(all, [&](const auto& one) { return equal_ignoring_case(one.id, id); });
    if (found == all.end()) return std::nullopt;
    return *found;
  });
}

Result<> Operations::stop(const std::string& id) {
  const auto found = find(id);
  if (!found) return no_such(id);
  if (!is_running(*found)) return fail(Errc::kUsage, "operation {} has ended", id);
  if (!found->stop) return fail(Errc::kUsage, "operation {} cannot be stopped", id);
  all_.with([&](auto& all) {
    for (auto& one : all)
      if (one.id == found->id && one.status == OperationStatus::kRunning)
        one.status = OperationStatus::kStopping;
  });
  found->stop();  // not under the lock: it may wait
  return {};
}

Result<> Operations::cancel(const std::string& id) {
  const auto found = find(id);
  if (!found) return no_such(id);
  if (!is_running(*found)) return fail(Errc::kUsage, "operation {} has ended", id);
  if (!found->cancel) return fail(Errc::kUsage, "operation {} cannot be cancelled", id);
  end(found->id, OperationStatus::kCancelled, {}, {});
  found->cancel();
  return {};
}

void Operations::end(const std::string& id, OperationStatus status, std::string error,
                     std::string resource) {
  all_.with([&](auto& all) {
    for (auto& one : all) {
      if (one.id != id || !is_running(one)) continue;
      one.status = status;
      one.error = std::move(error);
      one.resource = std::move(resource);
      one.stop = one.cancel = nullptr;  // what they hold may end
    }
  });
}

}  // namespace clrscope::http
