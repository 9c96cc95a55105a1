// The managed helper that clrscope brings into a running process: a startup hook that is written
// into the temporary folder of the process and applied over its diagnostic port (.NET 8 and later).
//
// It reads the file "request" in that folder and answers in the file "answer", lines of NAME=VALUE
// both. The other side is dotnet/Clrscope.AspNetCore.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "ops/target.h"
#include "ops/target_folder.h"

namespace clrscope::ops {

using HelperAnswer = std::multimap<std::string, std::string>;
std::string value_of(const HelperAnswer& answer, const std::string& name);  // empty: not there

// One process, one folder: pid and start time identify a process.
Result<std::string> helper_folder_name(pid_t pid);
// Writes the helper. One that the process has loaded already is used again: also one of another
// build.
Result<std::string> place_hook(const TargetFolder& folder);
// Tells the helper and waits for what it says.
Result<HelperAnswer> tell_helper(Target& target, const TargetFolder& folder,
                                 const std::string& hook, const std::string& request);
// Removes the helper's files, and the folder if nothing else is in it.
void forget_helper(const TargetFolder& folder, const std::string& hook);

}  // namespace clrscope::ops
