// The names under which artifacts are downloaded.
#pragma once

#include <string>
#include <string_view>

namespace clrscope::archive {

// "Shop.Api_20261115_024512.nettrace"
std::string dated_name(std::string_view what, std::string_view extension);

// A name that fits between quotation marks and in a folder.
std::string safe_file_name(std::string_view name);

}  // namespace clrscope::archive
