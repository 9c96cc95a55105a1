"""What recording costs an ASP.NET application: CPU time per request of an allocating, a throwing and a database-bound load with `collect` as it is by
default, with `doctor`, and with dotnet-trace as it is by default.

Two processes run each load at the same time and share the machine; one of them is recorded, by turns, and compared with its twin (lib/twins.py). A process
that needs all CPUs loses as many requests as its CPU time per request grows, and as many as the recorder takes of the machine's CPU time: their sum is the
throughput lost. Recordings last 30 s, an examination 10 s, from before the recorder starts until after it has ended: a large part of the cost is there.
Where perf is permitted for the whole machine, its samples interrupt both processes alike and do not show here: 499 a second at the price that
`bench/run sampling` measures come on top.
"""
import os
import shutil
import subprocess
import sys
import threading

import postgres
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
        self.thread = threading.Thread(target=self.wait)
        self.thread.start()

    def wait(self):
        self.told = self.process.stderr.read().decode()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime

    def end(self):
        self.thread.join(timeout=120)
        if self.process.returncode not in (0, 10):
            raise RuntimeError(f"{self.words[0]} ended with {self.process.returncode}: {self.told.strip()[-300:]}")
        for path in self.out.parent.glob(f"{self.out.name}*"):
            path.unlink()


def one_load(kit, name, path, rounds, started):
    twins = Twins(started, path)
    between = 1 if kit.quick else 5
    for _ in range(1 if kit.quick else 3):  # until their code is compiled for speed
        loads = twins.load(between)
    note(f"{name}: {loads[0].requests / between:,.0f} and {loads[1].requests / between:,.0f} requests per second, CPU per request of the twins {percent(twins.ratio(loads, 0)):+.1f} %")
    program, whole = {}, {}
    before = twins.load(between)
    for turn in range(rounds):
        for recorder, (length, command) in recorders(kit).items():
            if recorder == "dotnet-trace" and turn >= 2:
                continue  # it costs far more than rounds differ by
            treated = turn % 2
            recording = Recorder(kit, command, twins.pids[treated])
            during = twins.load(length + 2)
            recording.end()
            after = twins.load(between)
            plain = (twins.ratio(before, treated) + twins.ratio(after, treated)) / 2
            program.setdefault(recorder, []).append(percent(twins.ratio(during, treated) - plain))
            own = 100 * recording.cpu / ((length + 2) * os.cpu_count())
            whole.setdefault(recorder, []).append(program[recorder][-1] + own)
            before = after
    for process in twins.processes:
        kit.end_sample(process)
    rows = []
    for what, budget, of in ("throughput lost", 3, whole), ("CPU per request more", None, program):
        estimates = {recorder: Estimate(values) for recorder, values in of.items()}
        for recorder in ("collect", "doctor"):
            rows.append(Row(f"{name}, {what}, {recorder}", "%", estimates[recorder].mean, budget, estimates["dotnet-trace"].mean, "dotnet-trace"))
        for recorder, estimate in estimates.items():
            note(f"{name}, {what}, {recorder}: {estimate}")
    return rows


def run(kit):
    if not shutil.which("wrk"):
        raise RuntimeError("wrk is missing: apt-get install wrk")
    rounds = 1 if kit.quick else 12 if kit.long else 6
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
