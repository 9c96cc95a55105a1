// The JSON schema (draft 2020-12) of what a verb prints with --json: `clrscope VERB --json-schema`.
#pragma once

#include <string>

#include "cli/verb.h"

namespace clrscope::cli {

std::string json_schema(const Verb& verb);

}  // namespace clrscope::cli
