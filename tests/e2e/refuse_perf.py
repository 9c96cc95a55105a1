#!/usr/bin/env python3
"""Runs a command under a seccomp filter that keeps perf_event_open or ptrace from it, as containers have it.

    refuse_perf.py EPERM|ENOSYS|KILL[:ptrace] COMMAND ARGS…
"""
import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_KILL_PROCESS, RET_ERRNO, RET_ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
CALLS = {"x86_64": {"perf_event_open": 298, "ptrace": 101}}


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def install(action, name):
    call = CALLS.get(platform.machine(), {}).get(name)
    if call is None:
        sys.exit(f"refuse_perf: no number of {name} for {platform.machine()}")
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (LOAD_WORD, 0, 0, 0),  # the number of the call
        (JUMP_IF_EQUAL, 0, 1, call),
        (RETURN, 0, 0, action),
        (RETURN, 0, 0, RET_ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments) != 0:
            sys.exit(f"refuse_perf: prctl: {os.strerror(ctypes.get_errno())}")


def main(how, *command):
    how, _, name = how.partition(":")
    install(RET_KILL_PROCESS if how == "KILL" else RET_ERRNO | getattr(errno, how), name or "perf_event_open")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
