// What is around every page: rail, process picker, status strip.
#pragma once

#include <string>
#include <vector>

#include "http/page.h"
#include "model/process.h"

namespace clrscope::http {

// The whole document. `processes` are those of the picker.
std::string page_html(const Call& call, const PageContent& content,
                      const std::vector<Process>& processes);

}  // namespace clrscope::http
