#include "archive/operations.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace clrscope::archive {
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
  return fail(Errc::kUsage, "operation {} does not exist", id).hint("GET /operations lists them");
}

}  // namespace

std::span<const std::string_view> names_of(OperationStatus) {
  static constexpr std::array<std::string_view, 5> kNames{"Running", "Stopping", "Succeeded",
                                                          "Failed", "Cancelled"};
  return kNames;
}

const Shape& shape_of(const OperationSummary*) {
  using O = OperationSummary;
  static const auto shape = describe<O>(
      "OperationSummary", "A trace, dump, session, examination or profile that a client asked for",
      {member<&O::id>("operationId", "id of the operation"),
       member<&O::created>("createdDateTime", "time of the request"),
       member<&O::status>("status", "state of the operation"),
       member_or_null<&O::egress_provider>("egressProviderName", "always null"),
       member<&O::stoppable>("isStoppable", "whether DELETE with stop=true ends it early"),
       member_or_null<&O::process>("process", "target process; null: the whole machine"),
       member<&O::tags>("tags", "tags of the request"),
       member<&O::kind>("kind", "trace, dump, session, doctor or requests")});
  return shape;
}

const Shape& shape_of(const OperationError*) {
  static const auto shape =
      describe<OperationError>("OperationError", "Why an operation failed",
                               {member<&OperationError::message>("message", "what failed")});
  return shape;
}

const Shape& shape_of(const OperationAnswer*) {
  using O = OperationAnswer;
  static const auto shape = describe<O>(
      "OperationStatus", "One operation and its result",
      {member_or_null<&O::resource>(
           "resourceLocation", "path of the result; null if it was the response itself, or none"),
       member_or_null<&O::error>("error", "why it failed"), members_of<&O::summary>()});
  return shape;
}

OperationSummary summary_of(const Operation& operation) {
  OperationSummary out{
      .id = operation.id,
      .created = operation.created,
      .status = operation.status,
      .stoppable = operation.stop != nullptr && operation.status == OperationStatus::kRunning,
      .kind = operation.kind};
  if (operation.process.pid != 0) out.process = reference_to(operation.process);
  if (!operation.tags.empty())
    for (const auto tag : split(operation.tags, ',')) out.tags.emplace_back(trim(tag));
  return out;
}

OperationAnswer answer_of(const Operation& operation) {
  OperationAnswer out{.resource = operation.resource, .summary = summary_of(operation)};
  if (!operation.error.empty()) out.error = OperationError{operation.error};
  return out;
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

OperationHandle::~OperationHandle() { fail("it was abandoned"); }

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

std::vector<Operation> Operations::list(const ops::Selector& selector,
                                        const std::string& tags) const {
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

}  // namespace clrscope::archive
