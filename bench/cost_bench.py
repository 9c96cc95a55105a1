"""What recording costs an ASP.NET application: CPU time per request of an allocating, a throwing and a database-bound load with `collect` as it is by
default, with `doctor`, and with dotnet-trace as it is by default.

A process that needs all CPUs loses the requests that it could have answered in the CPU time taken by (1) the runtime's code that writes events, (2) the kernel's
timer that takes samples, (3) the recorder: their sum is the throughput lost. 1 and 2 are measured by sampling the process (lib/direct_cost.py), 3 is the
recorder's CPU time as a share of the machine.

As a check, and for dotnet-trace, which stops threads instead of using their time, two processes run each load at the same time and share the machine; one of them
is recorded, by turns, and compared with its twin (lib/twins.py). On a shared machine that tells a few percent only. Recordings last 30 s, an examination 10 s,
from before the recorder starts until after it has ended: a large part of the cost is there.
"""
import os
import shutil
import subprocess
import sys
import threading
import time

import postgres
from direct_cost import EventCode, load, timer_share
from kit import Row
from twins import Estimate, Twins, percent

LOADS = {
    "allocating": "/alloc?kb=100",
    "throwing": "/throw",
}


def note(text):
    print(f"bench/run: cost: {text}", file=sys.stderr)


def recorders(kit):
    """Name → (seconds, command that records a process for so long). `doctor` takes as long as it does by default."""
    recording, examination = (2, 2) if kit.quick else (30, 10)
    whole = f"00:00:{recording:02}"
    return {
        "collect": (recording, [kit.clrscope, "collect", "-p", "{pid}", "--duration", f"{recording}s", "-o", "{out}"]),
        "doctor": (examination, [kit.clrscope, "doctor", "-p", "{pid}", "--duration", f"{examination}s", "--json"]),
        "dotnet-trace": (recording, [kit.peer("dotnet-trace"), "collect", "-p", "{pid}", "--duration", whole, "-o", "{out}"]),
    }


class Recorder:
    """Runs a recorder to its end on another thread; `cpu` is what it and its children took."""

    def __init__(self, kit, command, pid):
        self.out = kit.tmp / f"cost-{pid}"
        self.words = [word.format(pid=pid, out=self.out) for word in command]
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=kit.env)
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self.wait)
        self.thread.start()

    def wait(self):
        self.told = self.process.stderr.read().decode()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.seconds = time.monotonic() - self.began

    def end(self):
        self.thread.join(timeout=120)
        if self.process.returncode not in (0, 10):
            raise RuntimeError(f"{self.words[0]} ended with {self.process.returncode}: {self.told.strip()[-300:]}")
        for path in self.out.parent.glob(f"{self.out.name}*"):
            path.unlink()


def direct(kit, name, twins):
    """What recorders take of the CPU time that the first of the twins uses under load."""
    pid, url = twins.pids[0], twins.urls[0]
    rows = []
    event_code = EventCode(kit, pid, url, 2 if kit.quick else 20)
    for recorder in ("collect",) if kit.quick else ("collect", "doctor"):
        length, command = recorders(kit)[recorder]
        words = [word.format(pid=pid, out=kit.tmp / "direct") for word in command]
        events = event_code.share(length, words)
        timer = timer_share(kit, pid, url, length, words)
        client = load(url, length + 2)
        recording = Recorder(kit, command, pid)
        recording.end()
        client.wait(timeout=60)
        own = 100 * recording.cpu / (recording.seconds * os.cpu_count())
        note(f"{name}, {recorder}: writing events {events} of the program's CPU time, samples {'not measured' if timer is None else f'{timer:.2f} %'}, "
             f"the recorder {own:.2f} % of the machine's ({recording.cpu:.2f} s)")
        if timer is not None:
            rows.append(Row(f"{name}, throughput lost, {recorder}", "%", events.percent + timer + own, 3))
    return rows


def one_load(kit, name, path, rounds, started):
    twins = Twins(started, path)
    between = 1 if kit.quick else 5
    for _ in range(1 if kit.quick else 3):  # until their code is compiled for speed
        loads = twins.load(between)
    note(f"{name}: {loads[0].requests / between:,.0f} and {loads[1].requests / between:,.0f} requests per second, CPU per request of the twins {percent(twins.ratio(loads, 0)):+.1f} %")
    rows = direct(kit, name, twins)
    program = {}
    for recorder, (length, command) in recorders(kit).items():
        for _ in range(1 if recorder == "dotnet-trace" else rounds):  # it costs far more than rounds differ by
            ratios = []
            for treated in 0, 1:
                recording = Recorder(kit, command, twins.pids[treated])
                ratios.append(twins.ratio(twins.load(length + 2), treated))
                recording.end()
            program.setdefault(recorder, []).append(percent(sum(ratios) / 2))  # what else makes the twins differ adds to one and is taken from the other
    for process in twins.processes:
        kit.end_sample(process)
    estimates = {recorder: Estimate(values) for recorder, values in program.items()}
    for recorder in ("collect", "doctor"):
        rows.append(Row(f"{name}, CPU per request more than the twin's, {recorder}", "%", estimates[recorder].mean, None, estimates["dotnet-trace"].mean, "dotnet-trace"))
    for recorder, estimate in estimates.items():
        note(f"{name}, CPU per request more than the twin's, {recorder}: {estimate}")
    return rows


def run(kit):
    if not shutil.which("wrk"):
        raise RuntimeError("wrk is missing: apt-get install wrk")
    rounds = 1 if kit.quick else 12 if kit.long else 2
    rows = []
    for name, path in LOADS.items():
        rows += one_load(kit, name, path, rounds, [kit.sample("web"), kit.sample("web")])
        if kit.quick:
            return rows
    if not postgres.program("initdb"):
        note("PostgreSQL is not installed (apt-get install postgresql): no database-bound load")
        return rows
    server = postgres.Postgres()
    try:
        rows += one_load(kit, "database-bound", "/orders", rounds, [kit.shop(server.connection), kit.shop(server.connection)])
    finally:
        server.stop()
    return rows
