#!/usr/bin/env python3
"""Unwinds a stopped process with unwind_live and with gdb and compares frame by frame.

    compare_with_gdb.py PID [UNWIND_LIVE]

gdb knows native code only, so each thread is compared from its innermost frame up to the first managed one. Prints JSON:
threads, complete (reached the root), compared and different (frames), incomplete and firstDifference in words; and of all
frames, managed ones too, how many were returned to (returns) and how many of these addresses follow no call (notAfterCall).
Exit code 4 if gdb or ptrace is unavailable.
"""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys

GDB_SCRIPT = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    for number in range(40):
        # Inlined functions and tail calls, which it tells from debug information, have no frame.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print('FRAME', thread.ptid[1], number, '%x' % frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
        if frame is None:
            break
"""


def unwind_with_gdb(pid, folder):
    script = os.path.join(folder, "frames.py")
    with open(script, "w") as file:
        file.write(GDB_SCRIPT)
    shown = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-p", str(pid),
                            "-x", script], capture_output=True, text=True, timeout=100)
    stacks = collections.defaultdict(list)
    for line in shown.stdout.splitlines():
        if line.startswith("FRAME "):
            _, tid, _, pc = line.split()
            stacks[int(tid)].append(pc)
    return stacks


def unwind_with_ours(pid, program):
    shown = subprocess.run([program, str(pid)], capture_output=True, text=True, timeout=100)
    if shown.returncode == 4:
        print("ptrace is refused here", file=sys.stderr)
        sys.exit(4)
    shown.check_returncode()
    stacks, stops = collections.defaultdict(list), {}
    for line in shown.stdout.splitlines():
        words = line.split()
        if words[1] == "stop":
            stops[int(words[0])] = " ".join(words[2:])
        else:
            stacks[int(words[0])].append((words[2], words[3], words[4]))
    return stacks, stops


def is_native(module):
    return not module.startswith("[jit]") and not module.endswith(".dll") and module != "?"


def is_after_call(code):
    """Whether these 8 bytes end with a call: direct, or through a register or memory."""
    if len(code) < 8 or code[3] == 0xE8:
        return len(code) == 8
    for size in (2, 3, 4, 6, 7):  # of an indirect call without its prefix
        opcode, modrm = code[8 - size], code[8 - size + 1]
        if opcode == 0xFF and modrm >> 3 & 7 == 2:
            return True
    return False


def look_before_returns(pid, stacks):
    returns = wrong = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for frames in stacks.values():
            for (_, _, caller), (pc, _, _) in zip(frames, frames[1:]):
                if "restore_rt" in caller:  # the frame below was interrupted, not called
                    continue
                returns += 1
                memory.seek(int(pc, 16) - 8)
                wrong += not is_after_call(memory.read(8))
    return returns, wrong


def compare(ours, theirs):
    compared = different = 0
    first = ""
    for tid, frames in ours.items():
        for number, (pc, module, name) in enumerate(frames):
            # The caller of the last native frame is managed: gdb finds it too, by the native frame's rule.
            if number >= len(theirs.get(tid, [])):
                break
            compared += 1
            if pc != theirs[tid][number]:
                different += 1
                first = first or f"thread {tid} frame {number}: ours {pc} ({module} {name}), gdb {theirs[tid][number]}"
                break
            if not is_native(module):
                break
    return compared, different, first


def main():
    pid = int(sys.argv[1])
    program = sys.argv[2] if len(sys.argv) > 2 else "unwind_live"
    if not shutil.which("gdb"):
        print("gdb is not installed", file=sys.stderr)
        return 4
    os.kill(pid, signal.SIGSTOP)  # so that both see the same instant
    try:
        ours, stops = unwind_with_ours(pid, program)
        returns, not_after_call = look_before_returns(pid, ours)
        theirs = unwind_with_gdb(pid, os.environ.get("TMPDIR", "/tmp"))
    finally:
        os.kill(pid, signal.SIGCONT)
    compared, different, first = compare(ours, theirs)
    jitted = [sum(module == "[jit]" for _, module, _ in frames) for frames in ours.values()]
    print(json.dumps({"threads": len(stops), "complete": sum(reason == "root" for reason in stops.values()),
                      "compared": compared, "different": different, "firstDifference": first, "mostJitted": max(jitted, default=0),
                      "returns": returns, "notAfterCall": not_after_call,
                      "incomplete": sorted(reason for reason in stops.values() if reason != "root")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
