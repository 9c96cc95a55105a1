"""How right CPU samples are, and what they cost: the target's work, an ASP.NET endpoint, idle threads; and us: CPU, memory, bytes, the stop.

Beside dotnet-trace (its sampler) and perf record. Configurations alternate, so that what else the machine does matters little. Rungs: machine (root, -a), process (perf of one process), agent (perf refused, as
containers do it: timers inside the process), runtime (neither).
"""
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from direct_cost import sampling_timer
from kit import ROOT, Row

TICKS = os.sysconf("SC_CLK_TCK")
REFUSE = [sys.executable, str(ROOT / "tests/e2e/refuse_perf.py"), "EPERM"]


def note(text):
    print(f"bench/run: sampling: {text}", file=sys.stderr)


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def recorders(kit):
    """Name → command that records a process until it is interrupted; None is nothing at all."""
    ours = [kit.clrscope, "collect", "--profile", "cpu-sampling", "--rate", "999", "-o", "{out}"]
    all_of_them = {
        "nothing": None,
        "machine": [kit.clrscope, "collect", "-a", "--profile", "cpu-sampling", "--rate", "999", "-o", "{out}"],
        "process": [*ours, "-p", "{pid}"],
        "agent": [*REFUSE, *ours, "-p", "{pid}", "--sampler", "agent"],
        "runtime": [*REFUSE, *ours, "-p", "{pid}", "--sampler", "runtime"],
        "dotnet-trace": [kit.peer("dotnet-trace"), "collect", "-p", "{pid}", "-o", "{out}"],
    }
    if os.getuid() != 0:
        all_of_them.pop("machine")
    if shutil.which("perf"):
        all_of_them["perf"] = ["perf", "record", "-q", "-F", "999", "-g", "-p", "{pid}", "-o", "{out}"]
    else:
        note("perf is not installed: no comparison with it")
    return all_of_them


class Recording:
    """A recorder at work on a process: started and known to run, ended by Ctrl+C."""

    def __init__(self, kit, command, pid):
        self.out = kit.tmp / f"recording-{pid}"
        self.log = kit.tmp / f"recording-{pid}.log"
        self.process = None
        if command is None:
            return
        words = [word.format(pid=pid, out=self.out) for word in command]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=kit.env,
                                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored in the background of a shell
        kit.started.append(self.process)
        wanted = None if words[0] == "perf" else re.compile("Recording|Process  *:|Press <Enter>|Output File")
        deadline = time.monotonic() + 30
        while wanted and not wanted.search(self.log.read_text()) and time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{words[0]} ended: {self.log.read_text()[-300:]}")
            time.sleep(0.05)
        time.sleep(0.5 if words[0] == "perf" else 0.2)

    def stop(self):
        """Seconds from the request to stop to the whole file."""
        if not self.process:
            return 0
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=120)
        seconds = time.monotonic() - began
        if not any(path.suffix != ".log" and path.stat().st_size > 0 for path in self.out.parent.glob(f"{self.out.name}*")):
            raise RuntimeError(f"no recording was written: {self.log.read_text()[-300:]}")
        for path in self.out.parent.glob(f"{self.out.name}*"):
            if path.suffix != ".log":
                path.unlink()
        return seconds


def alternate(kit, measure):
    """name → best of some measurements, larger is better; all configurations in turn."""
    commands = recorders(kit)
    best = {}
    for _ in range(1 if kit.quick else 5 if kit.long else 2):
        for name, command in commands.items():
            value = measure(command)
            best[name] = max(best.get(name, value), value)
    return best


def loss(best, name):
    return 100 * (1 - best[name] / best["nothing"])


def losses(what, best, budgets):
    rows = []
    for name in ("machine", "process", "agent", "runtime"):
        if name not in best:
            continue
        rows.append(Row(f"{what}, {name} rung", "%", loss(best, name), budgets.get(name), loss(best, "dotnet-trace"), "dotnet-trace"))
    if "perf" in best:
        rows.append(Row(f"{what}, perf record", "%", loss(best, "perf")))
    return rows


def fixed_work(kit):
    """The kernel's work for samples is charged to the target. Each recorder is compared with the moments right before and after it in the same
    process: whatever else a machine does changes slowly; the median of all rounds stands."""
    rounds, seconds = (1, 1) if kit.quick else (16, 3) if kit.long else (8, 3)
    worker = kit.worker("--work")
    lost = {}
    for _ in range(rounds):
        before = worker.rates(seconds)
        for name, command in recorders(kit).items():
            if command is None:
                continue
            recording = Recording(kit, command, worker.process.pid)
            recorded = worker.rates(seconds)
            recording.stop()
            time.sleep(0.3)
            after = worker.rates(seconds)
            lost.setdefault(name, []).append([100 * (1 - 2 * there / (one + other)) for there, one, other in zip(recorded, before, after)])
            before = after
    worker.process.kill()
    rows = []
    for at, what, budget in (0, "by wall time", 3), (1, "by its CPU time", None):
        of = {name: [one[at] for one in values] for name, values in lost.items()}
        for name, values in of.items():
            if name != "dotnet-trace":
                rows.append(Row(f"work lost on one busy thread, {what}, {name}", "%", statistics.median(values),
                                budget if name in ("machine", "process") else None, statistics.median(of["dotnet-trace"]), "dotnet-trace"))
                note(f"{what}, {name}: {min(values):.1f} to {max(values):.1f} % in {rounds} rounds")
    return rows


def web(kit):
    if not shutil.which("wrk"):
        note("wrk is not installed: no ASP.NET endpoint under load")
        return []
    seconds = 2 if kit.quick else 8 if kit.long else 4

    def measure(command):
        sample, ready = kit.sample("web")
        url = ready["truth"]["address"].rstrip("/") + "/plaintext"
        wrk = ["wrk", "-t1", "-c16", url]
        subprocess.run([*wrk, "-d1s"], check=True, capture_output=True)  # warm
        recording = Recording(kit, command, ready["pid"])
        out = subprocess.run([*wrk, f"-d{seconds}s"], check=True, capture_output=True, text=True).stdout
        recording.stop()
        kit.end_sample(sample)
        return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])

    return losses("requests lost, ASP.NET plaintext under wrk", alternate(kit, measure), {"machine": 5, "process": 5})


def idle_threads(kit):
    """CPU that 200 idle threads burn while recorded, in per cent of a core."""
    seconds = 2 if kit.quick else 6

    def burn(command):
        sample, ready = kit.sample("threads", "200")
        recording = Recording(kit, command, ready["pid"])
        before = cpu_seconds(ready["pid"])
        time.sleep(seconds)
        burnt = cpu_seconds(ready["pid"]) - before
        recording.stop()
        kit.end_sample(sample)
        return 100 * burnt / seconds

    commands = recorders(kit)
    return [Row("200 idle threads recorded, target's CPU", "%", burn(commands["process"]), 1, burn(commands["dotnet-trace"]), "dotnet-trace")]


def kernel_time(kit):
    """Time in the kernel's sampling timer, of the target's CPU."""
    sample, ready = kit.sample("cpu")
    recording = Recording(kit, recorders(kit)["process"], ready["pid"])
    before = cpu_seconds(ready["pid"])
    timer = sampling_timer(ready["pid"], 2 if kit.quick else 6)
    burnt = cpu_seconds(ready["pid"]) - before
    recording.stop()
    kit.end_sample(sample)
    if not timer:
        note("the kernel's time for a sample needs root and bpftrace: not measured by itself (see: by its CPU time)")
        return []
    nanoseconds, count = timer
    return [Row("kernel's time for a sample, probes included", "us", nanoseconds / count / 1000),
            Row("kernel's time for sampling, of the target's CPU", "%", 100 * nanoseconds / 1e9 / max(burnt, 0.01), 1.3)]


def sample_price(kit):
    """All that a sample costs the target's CPU, caches and the machine's timer included: work lost at a very high rate, shared among the samples.
    Beside perf without stacks (the timer alone), with frame pointers and with copies of the stack; all in turn."""
    rate, seconds, rounds = 9_495, 2, 1 if kit.quick else 6
    ways = {"ours": [kit.clrscope, "collect", "--profile", "cpu-sampling", "--rate", str(rate), "-p", "{pid}", "-o", "{out}"]}
    if shutil.which("perf"):
        perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), "-p", "{pid}", "-o", "{out}"]
        ways |= {"perf without stacks": perf, "perf, frame pointers": [*perf, "--call-graph", "fp"], "perf, stack copies": [*perf, "--call-graph", "dwarf,8192"]}
    worker = kit.worker("--work")
    lost = {}
    _, before = worker.rates(seconds)
    for _ in range(rounds):
        for name, command in ways.items():
            recording = Recording(kit, command, worker.process.pid)
            _, there = worker.rates(seconds)
            recording.stop()
            time.sleep(0.3)
            _, after = worker.rates(seconds)
            lost.setdefault(name, []).append(1e6 * (1 - 2 * there / (before + after)) / rate)
            before = after
    worker.process.kill()
    price = {name: statistics.median(values) for name, values in lost.items()}
    for name, values in lost.items():
        note(f"CPU that one sample costs the target, {name}: {min(values):.1f} to {max(values):.1f} us in {rounds} rounds")
    peer = price.get("perf, frame pointers")
    return [Row("CPU that one sample costs the target", "us", price["ours"], None, peer, "perf, frame pointers"),
            *[Row(f"the same, {name}", "us", value) for name, value in price.items() if name != "ours"]]


def shares(kit, path, methods):
    """Per cent of the samples of these methods that each has of its own; None: none has any."""
    done = kit.weigh(kit.clrscope, "report", path, "cpu", "--json")
    if done.code != 0:
        raise RuntimeError(f"report ended with {done.code}: {done.err.strip()[-300:]}")
    own = {name: 0 for name in methods}
    for row in json.loads(done.out)["methods"]:
        for name in methods:
            if row["method"].split("(")[0].endswith("." + name):
                own[name] += row["selfSamples"]
    total = sum(own.values())
    return [100 * count / max(total, 1) for count in own.values()], total


def split(kit):
    """The largest error, in points, on two programs whose methods take 60, 30 and 10 % of their CPU time by their own clock."""
    seconds = 3 if kit.quick else 60
    peer_seconds = 3 if kit.quick else 20
    programs = {"methods with loops": ("cpu", ["BurnSixty", "BurnThirty", "BurnTen"]),
                "short straight-line methods": ("cpu-short", ["LeafSixty", "LeafThirty", "LeafTen"])}
    started = {what: kit.sample(mode) for what, (mode, _) in programs.items()}
    pids = {what: ready["pid"] for what, (_, ready) in started.items()}

    def record(commands):
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=kit.env)
                   for command in commands]
        kit.started += running
        for one in running:
            if one.wait(timeout=seconds + 120) != 0:
                raise RuntimeError("a recorder of the known split failed")

    ours = {what: str(kit.tmp / f"ours-{pid}.nettrace") for what, pid in pids.items()}
    peers = {what: str(kit.tmp / f"peer-{pid}.nettrace") for what, pid in pids.items()}
    record([[kit.clrscope, "collect", "-p", str(pid), "--profile", "cpu-sampling", "--rate", "999", "--duration", f"{seconds}s", "-o", ours[what]]
            for what, pid in pids.items()])
    record([[kit.peer("dotnet-trace"), "collect", "-p", str(pid), "--profile", "dotnet-sampled-thread-time",
             "--duration", f"00:00:{peer_seconds:02}", "-o", peers[what]] for what, pid in pids.items()])
    rows = []
    for what, (_, methods) in programs.items():
        errors = []
        for path in (ours[what], peers[what]):
            found, samples = shares(kit, path, methods)
            errors.append(max(abs(share - true) for share, true in zip(found, (60, 30, 10))))
            note(f"{what}: {'/'.join(f'{share:.1f}' for share in found)} of {samples:,} samples in {pathlib.Path(path).name}")
        rows.append(Row(f"error of a 60/30/10 split, {what}", "points", errors[0], 1, errors[1], "dotnet-trace"))
    for sample, _ in started.values():
        kit.end_sample(sample)
    return rows


def collector(kit):
    """What recording the machine takes with two busy cores: our CPU and memory, bytes a sample."""
    if os.getuid() != 0:
        note("the whole machine needs root: not measured")
        return []
    lengths = (2, 4) if kit.quick else (10, 600) if kit.long else (10, 30)
    sample, _ = kit.sample("cpu", "--threads", "2")
    runs = []
    for seconds in lengths:
        path = kit.tmp / "machine.nettrace"
        weight = kit.weigh(kit.clrscope, "collect", "-a", "--profile", "cpu-sampling", "--rate", "999", "--duration", f"{seconds}s", "-o", path, "--json")
        if weight.code != 0:
            raise RuntimeError(f"collect -a ended with {weight.code}: {weight.err.strip()[-300:]}")
        runs.append((weight, json.loads(weight.out)))
        path.unlink()
    peer = None
    if shutil.which("perf"):
        peer = kit.weigh("perf", "record", "-q", "-a", "-F", "999", "-g", "-o", kit.tmp / "perf.data", "--", "sleep", str(lengths[0]))
    kit.end_sample(sample)
    (short, first), (whole, second) = runs
    steady = (whole.cpu_seconds - short.cpu_seconds) / (lengths[1] - lengths[0])
    samples = second["samples"] - first["samples"]
    return [
        Row("collect -a at two busy cores, own CPU once started", "%", 100 * steady, 3,
            100 * peer.cpu_seconds / lengths[0] if peer else None, "perf record"),
        Row("collect -a, bytes a sample", "B", (second["bytes"] - first["bytes"]) / max(samples, 1), 60),
        Row("collect -a, samples lost", "", second["lost"], 0),
        Row(f"collect -a for {lengths[1]} s, peak memory", "MB", whole.rss_mb, 100, peer.rss_mb if peer else None, "perf record"),
    ]


def stop_to_file(kit):
    """From Ctrl+C to the whole file, names included."""
    def measure(command):
        sample, ready = kit.sample("web")
        recording = Recording(kit, command, ready["pid"])
        time.sleep(1)
        seconds = recording.stop()
        kit.end_sample(sample)
        return seconds

    commands = recorders(kit)
    times = 1 if kit.quick else 3
    return [Row("stop of a web application's recording to the file", "s", min(measure(commands["process"]) for _ in range(times)), 1,
                min(measure(commands["dotnet-trace"]) for _ in range(times)), "dotnet-trace")]


def run(kit):
    rows = []
    for part in (split, fixed_work, web, idle_threads, kernel_time, sample_price, collector, stop_to_file):
        rows += part(kit)
    return rows
