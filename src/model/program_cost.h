// What recording or examining a program cost it, measured by its CPU time.
#pragma once

namespace clrscope {

struct ProgramCost {
  double cpus_before = 0;  // processors it used on average in the moment before
  double cpus_during = 0;  // and meanwhile
};

}  // namespace clrscope
