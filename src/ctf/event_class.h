// A kind of event as CTF describes and writes it, made of its payload's plan.
//
// Every field is aligned to bytes, so that a value is what it is wherever it stands: numbers as
// they are, texts as UTF-8 up to a zero, enumerations with their names, arrays with a count before
// them, objects as structures; GUIDs, dates and decimals as text. Format: docs/formats/ctf.md
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nettrace/payload.h"

namespace clrscope::ctf {

// The members of a structure in TSDL, a line each. A payload that nobody describes is its bytes.
std::string describe(const nettrace::PayloadPlan& plan);

// The payload in the layout that describe() told; what a cut payload lacks is zero or empty.
void append_payload(std::vector<std::uint8_t>& out, const nettrace::PayloadPlan& plan,
                    Bytes payload);

// Text in TSDL's quotes: what would end them is escaped, control characters are left out.
std::string quoted(std::string_view text);

}  // namespace clrscope::ctf
