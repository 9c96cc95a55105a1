#!/usr/bin/env python3
"""A control group with a memory limit for one process, version 1 or 2.

    memory_group.py join NAME PID MB     moves it into the group, where it may have MB more
    memory_group.py leave NAME PID       back to where it was, and removes the group
"""
import pathlib
import sys

OLD = pathlib.Path("/sys/fs/cgroup/memory")


def main():
    what, name, pid = sys.argv[1:4]
    old = (OLD / "cgroup.procs").exists()
    top = OLD if old else pathlib.Path("/sys/fs/cgroup")
    group = top / name
    if what == "leave":
        (top / "cgroup.procs").write_text(pid)
        group.rmdir()
        return
    group.mkdir()
    (group / "cgroup.procs").write_text(pid)
    # What it has was charged to the group it comes from: the new one has all of the limit left.
    limit = int(sys.argv[4]) << 20
    (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit))


main()
