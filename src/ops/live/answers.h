// Live answers as people and programs read them: JSON and text, one place for REST and whoever
// else.
#pragma once

#include <string>

#include "ops/live/live.h"

namespace clrscope::ops {

// {pid, process, live, intervalMs, counters: [{…, points: [{time, value}]}]}; points where asked.
std::string counters_json(const CountersAnswer& answer, bool points);
std::string counters_text(const CountersAnswer& answer);
// One value a line, as `counters --json` has it.
std::string counter_lines(const std::vector<hub::CounterValue>& values,
                          const CounterHistory::Choice& choice);
// As dotnet-monitor's /livemetrics has it; without a line end.
std::string livemetric_json(const hub::CounterValue& value);

std::string view_json(const ViewAnswer& answer, Topic topic);
std::string view_text(const ViewAnswer& answer);

// As dotnet-monitor's /exceptions has it: an object without a line end, or a paragraph.
std::string exception_json(const NamedException& exception);
std::string exception_text(const NamedException& exception);

// {processes: [{pid, process, live, sessions, events, lost, feeds: [{key, followers, …}]}]}
std::string live_status_json(const std::vector<Live::Status>& statuses);

}  // namespace clrscope::ops
