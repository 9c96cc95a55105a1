// For tests: recorded files below tests/data, wherever the clone lies. Defined by cmake/room.cmake.
#pragma once

#include <string>
#include <string_view>

namespace clrscope {

// test_data("fuzz/pdb/shop.dll"): the file's absolute path.
std::string test_data(std::string_view path);

}  // namespace clrscope
