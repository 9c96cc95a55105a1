#include <fmt/format.h>

#include "base/json.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

double ms(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string hex(std::uint64_t address) { return fmt::format("{:#x}", address); }

void write_frame(JsonWriter& json, const Frame& frame) {
  json.begin_object().member("method", frame.method).member("module", frame.module);
  json.member("kind", name_of(frame.kind));
  if (!frame.file.empty()) json.member("file", frame.file).member("line", frame.line);
  json.end_object();
}

void write_wait(JsonWriter& json, const Wait& wait) {
  json.key("waitingFor").begin_object().member("kind", name_of(wait.kind));
  json.key("object");
  if (wait.object != 0)
    json.value(hex(wait.object));
  else
    json.null();
  json.member("type", wait.type);
  if (wait.owner_os_id != 0) json.member("ownerOsId", wait.owner_os_id);
  json.member("timed", wait.timed);
  if (!wait.detail.empty()) json.member("detail", wait.detail);
  json.end_object();
}

void write_runtime(JsonWriter& json, const RuntimeThread& thread) {
  json.member("background", thread.background).member("pool", thread.pool);
  json.member("cooperative", thread.cooperative);
  if (!thread.exception_type.empty()) json.member("exception", thread.exception_type);
}

void write_thread(JsonWriter& json, const ThreadView& thread) {
  json.begin_object().member("osId", thread.os_id());
  json.key("managedId");
  if (thread.runtime)
    json.value(thread.runtime->managed_id);
  else
    json.null();
  json.member("name", thread.runtime && !thread.runtime->name.empty() ? thread.runtime->name
                                                                      : thread.os.name);
  json.member("state", state_text(thread)).member("cpuMs", ms(thread.os.cpu));
  if (!thread.os.wait_channel.empty()) json.member("waitChannel", thread.os.wait_channel);
  if (thread.os.syscall) json.member("syscall", *thread.os.syscall);
  if (thread.runtime) write_runtime(json, *thread.runtime);
  json.member("whole", thread.whole);
  if (!thread.broken.empty()) json.member("broken", thread.broken);
  json.key("frames").begin_array();
  for (const auto& frame : thread.frames) write_frame(json, frame);
  json.end_array();
  if (thread.waiting_for) write_wait(json, *thread.waiting_for);
  if (!thread.holds.empty()) {
    json.key("holds").begin_array();
    for (const auto object : thread.holds) json.value(hex(object));
    json.end_array();
  }
  json.end_object();
}

void write_lock(JsonWriter& json, const Lock& lock) {
  json.begin_object().member("kind", name_of(lock.kind)).member("object", hex(lock.object));
  json.member("type", lock.type);
  if (lock.owner_os_id != 0) json.member("ownerOsId", lock.owner_os_id);
  json.key("waiters").begin_array();
  for (const auto id : lock.waiters) json.value(id);
  json.end_array().end_object();
}

void write_pool(JsonWriter& json, const Pool& pool) {
  json.key("pool").begin_object();
  const auto write = [&](std::string_view name, const std::optional<std::uint32_t>& value) {
    if (value) json.member(name, *value);
  };
  write("workers", pool.workers);
  write("minWorkers", pool.min_workers);
  write("maxWorkers", pool.max_workers);
  write("blocked", pool.blocked);
  write("queued", pool.queued);
  write("addedForBlocking", pool.added_for_blocking);
  json.end_object();
}

}  // namespace

void write_stacks(JsonWriter& json, const Snapshot& seen) {
  json.member("pid", seen.pid).member("name", seen.name);
  json.member("runtime", seen.runtime).member("source", seen.source);
  json.member("pauseMs", ms(seen.pause)).member("tookMs", ms(seen.took));
  json.key("threads").begin_array();
  for (const auto& thread : seen.threads) write_thread(json, thread);
  json.end_array().key("cycles").begin_array();
  for (const auto& cycle : seen.cycles) {
    json.begin_array();
    for (const auto id : cycle) json.value(id);
    json.end_array();
  }
  json.end_array().key("locks").begin_array();
  for (const auto& lock : seen.locks) write_lock(json, lock);
  json.end_array().member("locksUnread", seen.locks_unread);
  if (seen.pool) write_pool(json, *seen.pool);
  json.key("notes").begin_array();
  for (const auto& note : seen.notes) json.value(note);
  json.end_array();
}

std::string stacks_json(const Snapshot& seen) {
  JsonWriter json;
  json.begin_object();
  write_stacks(json, seen);
  json.end_object();
  return std::move(json).take() + "\n";
}

}  // namespace clrscope::ops
