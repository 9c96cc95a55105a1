#include "archive/list_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace clrscope::archive {
namespace {

template <class E>
std::string name_in(E value) {
  return std::string{names_of(value)[static_cast<std::size_t>(value)]};
}

std::string process_of(const RecordingAnswer& one) {
  if (one.process.pid == 0) return one.process.name.empty() ? "the machine" : one.process.name;
  return fmt::format("{} ({})", one.process.name, one.process.pid);
}

}  // namespace

Document recordings_document(const std::vector<RecordingAnswer>& recordings) {
  if (recordings.empty()) return {.summary = {"No recordings are stored."}};
  DocumentTable table{.columns = {"ID", "STARTED", "PROCESS", "KIND", "STATE", ">DURATION", ">SIZE",
                                  ">LOST", "NAME"},
                      .keeps = "ID"};
  for (const auto& one : recordings)
    table.rows.push_back({one.id, one.started, process_of(one), name_in(one.kind),
                          name_in(one.state), format_duration(one.duration),
                          format_bytes(one.bytes), format_count(one.lost),
                          one.name.empty() ? one.file : one.name});
  return {.summary = {fmt::format("{} recording{}, newest first.", recordings.size(),
                                  recordings.size() == 1 ? "" : "s")},
          .tables = {std::move(table)},
          .next = "GET /recordings/ID/report/overview"};
}

Document sessions_document(const std::vector<SessionAnswer>& sessions) {
  const auto running = std::ranges::count_if(sessions, &SessionAnswer::running);
  Document page{
      .summary = {fmt::format("{} session{} running.", running, running == 1 ? " is" : "s are")}};
  if (sessions.empty()) return page;
  DocumentTable table{
      .columns = {"ID", "STARTED", "PROCESS", "STATE", "PROFILE", ">DURATION", ">EVENTS", ">LOST"},
      .keeps = "ID"};
  for (const auto& one : sessions)
    table.rows.push_back({one.recording.id, one.recording.started, process_of(one.recording),
                          name_in(one.recording.state), one.recording.profile,
                          format_duration(one.recording.duration),
                          format_count(one.recording.events), format_count(one.recording.lost)});
  page.tables.push_back(std::move(table));
  return page;
}

}  // namespace clrscope::archive
