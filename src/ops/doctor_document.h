// An examination as a document: the problems, their confidence, and what to do.
#pragma once

#include "base/document.h"
#include "ops/examine_all.h"

namespace clrscope::ops {

Document doctor_document(const doctor::Examination& examination);
// One line or two for each process, the worst first.
Document round_document(const Round& round);
// Every examination there is.
Document registry_document();

}  // namespace clrscope::ops
