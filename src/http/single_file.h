// A page of the web app as one HTML file with the app and the data inside: works offline, loads
// nothing from the network. Without JavaScript it shows the text.
#pragma once

#include <string>
#include <string_view>

#include "ops/flame.h"

namespace clrscope::http {

struct SingleFile {
  std::string_view kind;   // the page that shows it: "flame", "stacks", "doctor"
  std::string_view title;  // of the window
  std::string_view text;   // as the verb prints it
  std::string_view json;   // as the verb prints it with --json
};
std::string single_file(const SingleFile& content);

std::string flame_file(const ops::FlameRead& read);

}  // namespace clrscope::http
