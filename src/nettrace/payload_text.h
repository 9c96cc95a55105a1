// Payload values as people and programs read them.
#pragma once

#include <string>
#include <string_view>

#include "nettrace/payload.h"

namespace clrscope::nettrace {

// A value in the manner of TraceEvent's PayloadString (invariant culture): names of enumerations,
// addresses as 0x…, arrays in brackets, structures as { "name":value }.
void append_text(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value);

// A value as JSON: numbers, texts; addresses as "0x…", names of enumerations, times in ISO 8601,
// bytes in hexadecimal.
void append_json(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value);

// All fields of a payload: {"Count":1,"Reason":"AllocSmall"}; a short payload ends in
// "truncated":true, one that nobody describes gives {"undescribedBytes":77}.
void append_json(std::string& out, const PayloadPlan& plan, Bytes payload);

// All fields as `Count=1 Reason="AllocSmall"`; a short payload ends in `(truncated)`.
void append_text(std::string& out, const PayloadPlan& plan, Bytes payload);

// As .NET prints them: shortest text that reads back as the same number, 1E+16, NaN.
void append_double(std::string& out, double value);
void append_float(std::string& out, float value);

}  // namespace clrscope::nettrace
