// SHA-256, and comparing secrets. OpenSSL behind it.
#pragma once

#include <string>
#include <string_view>

namespace clrscope::net {

// 64 hexadecimal letters.
std::string sha256_hex(std::string_view text);

// Takes as long whether they differ early, late or not at all. Lengths are no secret.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace clrscope::net
