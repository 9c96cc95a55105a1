"""Stacks of 200 threads, command to text, and a deadlock named; dotnet-stack beside it where it can be had."""
import json
import subprocess

from kit import Row, median


def run(kit):
    rows = []
    threads, _ = kit.sample("threads")
    try:
        peer = kit.repeat(5, kit.peer("dotnet-stack"), "report", "-p", str(threads.pid)).seconds * 1000
    except subprocess.CalledProcessError:  # not every package source has it
        peer = None
    ours = kit.repeat(21, kit.clrscope, "stacks", "-p", str(threads.pid))
    rows.append(Row("stacks of 200 threads, wall", "ms", ours.seconds * 1000, 50, peer, "dotnet-stack"))
    rows.append(Row("stacks of 200 threads, pause", "ms", pause_of(kit, threads.pid), 0))
    locked, _ = kit.sample("deadlock-monitor")
    verdict = kit.repeat(21, kit.clrscope, "stacks", "-p", str(locked.pid))
    rows.append(Row("deadlock named, wall", "ms", verdict.seconds * 1000, 100))
    for target, budget in (("net8.0", 30), ("net9.0", 30), ("net10.0", 5)):
        busy, _ = kit.sample("cpu", "--threads", "2", target=target)
        rows.append(Row(f"stacks of running threads on {target}, pause", "ms", pause_of(kit, busy.pid), budget))
        kit.end_sample(busy)
    return rows


def pause_of(kit, pid):
    """The median of some looks."""
    looks = [kit.weigh(kit.clrscope, "stacks", "-p", str(pid), "--json") for _ in range(1 if kit.quick else 11)]
    return median([json.loads(look.out)["pauseMs"] for look in looks])
