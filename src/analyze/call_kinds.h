// How the events of outgoing calls are read: for the reports on them, and for the doctor.
#pragma once

#include <string>
#include <string_view>

#include "analyze/calls.h"

namespace clrscope::analyze {

CallEvent read_http_call(const Event& event, const nettrace::PayloadPlan& plan);
CallEvent read_dns_call(const Event& event, const nettrace::PayloadPlan& plan);
CallEvent read_database_call(const Event& event, const nettrace::PayloadPlan& plan);

// The bridge from DiagnosticSource hands on what it was asked for as pairs of texts; empty: none of
// that name.
std::string bridge_argument(const Event& event, const nettrace::PayloadPlan& plan,
                            std::string_view key);

}  // namespace clrscope::analyze
