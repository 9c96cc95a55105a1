"""What recording costs an ASP.NET application: throughput and CPU per request of an allocating, a throwing and a database-bound load without
anything, with `collect` as it is by default, with `doctor`, and with dotnet-trace as it is by default.

One process for each load; every recorder is compared with the moments right before and after it, in turn, so that what else the machine does matters
little. Load and program share the machine: throughput is what a closed loop of requests gets through. Recordings last 30 s, an examination 10 s:
a large part of their cost is at the beginning and at the end.
"""
import re
import shutil
import statistics
import subprocess
import sys
import time

import postgres
from kit import Row

LOADS = {
    "allocating": "/alloc?kb=100",
    "throwing": "/throw",
}


def note(text):
    print(f"bench/run: cost: {text}", file=sys.stderr)


def cpu_seconds(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def recorders(kit):
    """Name → (seconds, command that records a process for so long). `doctor` takes as long as it does by default."""
    recording, examination = (2, 2) if kit.quick else (30, 10)
    whole = f"00:00:{recording:02}"
    return {
        "collect": (recording, [kit.clrscope, "collect", "-p", "{pid}", "--duration", f"{recording}s", "-o", "{out}"]),
        "doctor": (examination, [kit.clrscope, "doctor", "-p", "{pid}", "--duration", f"{examination}s", "--json"]),
        "dotnet-trace": (recording, [kit.peer("dotnet-trace"), "collect", "-p", "{pid}", "--duration", whole, "-o", "{out}"]),
    }


def load(url, pid, seconds):
    """(requests a second, CPU microseconds a request) of so many seconds."""
    before = cpu_seconds(pid)
    out = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", url], check=True, capture_output=True, text=True).stdout
    spent = cpu_seconds(pid) - before
    done = int(re.search(r"(\d+) requests in", out)[1])
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), 1e6 * spent / max(done, 1)


def recorded_load(kit, command, url, pid, seconds):
    out = kit.tmp / f"cost-{pid}"
    words = [word.format(pid=pid, out=out) for word in command]
    # The load goes on from before the recording to after it: its beginning and its end cost too.
    recorder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=kit.env)
    kit.started.append(recorder)
    measured = load(url, pid, seconds + 1)
    _, err = recorder.communicate(timeout=120)
    if recorder.returncode not in (0, 10):
        raise RuntimeError(f"{words[0]} ended with {recorder.returncode}: {err.strip()[-300:]}")
    for path in out.parent.glob(f"{out.name}*"):
        path.unlink()
    return measured


def one_load(kit, name, path, rounds, seconds, started):
    sample, ready = started
    pid, url = ready["pid"], ready["truth"]["address"].rstrip("/") + path
    load(url, pid, 1 if kit.quick else 8)  # until its code is compiled for speed
    lost = {}
    before = load(url, pid, seconds)
    speed = before[0]
    for done in range(rounds):
        for recorder, (length, command) in recorders(kit).items():
            if recorder == "dotnet-trace" and done >= 2:
                continue  # it loses far more than rounds differ by
            there = recorded_load(kit, command, url, pid, length)
            time.sleep(0.5)
            after = load(url, pid, seconds)
            plain = [(one + other) / 2 for one, other in zip(before, after)]
            lost.setdefault(recorder, []).append((100 * (1 - there[0] / plain[0]), 100 * (there[1] / plain[1] - 1)))
            before = after
    kit.end_sample(sample)
    rows = []
    for at, what, budget in (0, "requests lost", 3), (1, "CPU a request more", None):
        of = {recorder: [one[at] for one in values] for recorder, values in lost.items()}
        for recorder in ("collect", "doctor"):
            rows.append(Row(f"{name} ASP.NET load, {what}, {recorder}", "%", statistics.median(of[recorder]), budget,
                            statistics.median(of["dotnet-trace"]), "dotnet-trace"))
        for recorder, values in of.items():
            error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
            note(f"{name} ({speed:,.0f} requests/s), {what}, {recorder}: {min(values):.1f} to {max(values):.1f} % in {len(values)} rounds, "
                 f"mean {statistics.mean(values):.1f} %, standard error {error:.1f}")
    return rows


def run(kit):
    if not shutil.which("wrk"):
        raise RuntimeError("wrk is missing: apt-get install wrk")
    rounds, seconds = (1, 2) if kit.quick else (12, 8) if kit.long else (5, 8)
    rows = []
    for name, path in LOADS.items():
        rows += one_load(kit, name, path, rounds, seconds, kit.sample("web"))
    if not postgres.program("initdb"):
        note("PostgreSQL is not installed (apt-get install postgresql): no database-bound load")
        return rows
    server = postgres.Postgres()
    try:
        rows += one_load(kit, "database-bound", "/orders", rounds, seconds, kit.shop(server.connection))
    finally:
        server.stop()
    return rows
