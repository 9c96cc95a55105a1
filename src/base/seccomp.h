// System calls that a seccomp filter may refuse, or kill for.
#pragma once

namespace clrscope {

bool under_seccomp();

// The errno of a call that is expected to fail, made in a child so that a filter that kills does
// not kill us: 0 if the call succeeded, -1 if the child was killed. `call` returns 0 or an errno.
int errno_in_child(int (*call)());

}  // namespace clrscope
