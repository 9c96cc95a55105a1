// What looking at a program cost it, as far as its processor time shows.
#pragma once

namespace clrscope {

struct ProgramCost {
  double cpus_before = 0;  // processors it used on average in the moment before
  double cpus_during = 0;  // and meanwhile
};

}  // namespace clrscope
