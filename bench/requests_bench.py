"""What request profiling costs: one probe in its three states, and the CPU time of a request under load at default sampling.

The probe is put into a method of 2 ns of the sample shop, which times itself. Load is taken in alternation without and with `clrscope requests`, on one process;
the spread of the pairs is printed, since load and program share the machine. What stays after a profile is the same in two processes by turns: one that was profiled
between the two series, and one that never was.
"""
import json
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from kit import Row

KEY = "bench"


def note(text):
    print(f"bench/run: requests: {text}", file=sys.stderr)


def cpu_seconds(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


class Profiler:
    """`clrscope requests` for as long as the block lasts."""

    def __init__(self, kit, pid, *options):
        self.kit, self.pid, self.options = kit, pid, options

    def __enter__(self):
        env = dict(self.kit.env, CLRSCOPE_DEBUG_KEY=KEY)
        self.process = subprocess.Popen([self.kit.clrscope, "requests", "-p", str(self.pid), "--include", "Samples.Shop", "--duration", "600s", "--json", *self.options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.kit.started.append(self.process)
        self.wait_until(["methods"])
        return self

    def wait_until(self, sources):
        for _ in range(600):
            answer = subprocess.run([self.kit.clrscope, "agent", "status", "-p", str(self.pid), "--json"], capture_output=True, text=True, env=self.kit.env)
            status = json.loads(answer.stdout or "[]")
            if answer.returncode == 0 and status and status[0]["sources"] == sources:
                return
            time.sleep(0.05)
        raise RuntimeError(f"the agent never had the sources {sources}")

    def __exit__(self, *_):
        self.process.terminate()
        self.seen = json.loads(self.process.communicate(timeout=60)[0] or "{}")
        self.wait_until([])


def get(url, forced=False):
    request = urllib.request.Request(url, headers={"x-clrscope-key": KEY} if forced else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def call_ns(address, count, times, forced=False):
    return min(json.loads(get(f"{address}/calls/{count}", forced))["nsPerCall"] for _ in range(times))


def probe_rows(kit, address, pid):
    count, times = (100_000, 5) if kit.quick else (1_000_000, 20)
    call_ns(address, count, times)
    plain = call_ns(address, count, times)
    with Profiler(kit, pid, "--sample", "0", "--method-budget", "0") as profiler:
        call_ns(address, count, times)  # compiled again, twice
        time.sleep(0.5)
        closed = call_ns(address, count, times)
        other = threading.Thread(target=lambda: get(f"{address}/reports/bench?ms={2000 if kit.quick else 6000}", forced=True))
        other.start()
        time.sleep(0.3)
        passing = call_ns(address, count, times)
        other.join()
        own = min(call_ns(address, 400, 1, forced=True) for _ in range(times * 3) if not time.sleep(0.02))
    if not any(span["method"] == "Samples.Shop.Calls.Short" for one in profiler.seen["requests"] for span in one["spans"]):
        raise RuntimeError("the method was not instrumented: nothing was measured")
    note(f"a call without a probe takes {plain:.2f} ns")
    return [Row("probe while no request is sampled", "ns", closed - plain, 1),
            Row("probe while another request is sampled", "ns", passing - plain, 4),
            Row("probe of a sampled request, a span recorded", "ns", own - plain, 25)]


def load(address, pid, seconds):
    """CPU microseconds of the process for a request."""
    before = cpu_seconds(pid)
    out = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", f"{address}/orders/17"], check=True, capture_output=True, text=True).stdout
    return 1e6 * (cpu_seconds(pid) - before) / max(int(re.search(r"(\d+) requests in", out)[1]), 1)


def load_row(kit, address, pid):
    rounds, seconds, settles = (1, 1, 1) if kit.quick else (5, 8, 6)
    load(address, pid, seconds)
    ratios = []
    for _ in range(rounds):
        before = load(address, pid, seconds)
        with Profiler(kit, pid) as profiler:
            load(address, pid, settles)  # the runtime compiles instrumented methods twice
            during = load(address, pid, seconds)
        ratios.append(100 * (during / ((before + load(address, pid, seconds)) / 2) - 1))
    seen = profiler.seen
    note(f"CPU a request: {', '.join(f'{one:+.1f} %' for one in ratios)}; the last one saw {seen.get('seen')} requests and sampled {seen.get('sampled')}")
    return Row("CPU time of a request, default sampling", "%", statistics.median(ratios), 1)


def compare(kit, used, plain):
    """CPU of a request in one process, by that in the other: pairs by turns."""
    rounds, seconds = (1, 1) if kit.quick else (6, 5)
    ratios = []
    for turn in range(rounds):
        pair = [load(*used, seconds), load(*plain, seconds)] if turn % 2 == 0 else [load(*plain, seconds), load(*used, seconds)][::-1]
        ratios.append(pair[0] / pair[1])
    return ratios


def removal_row(kit):
    """A process that was profiled, beside one that never was: before the profile and after it."""
    settles = 1 if kit.quick else 8
    processes = [kit.sample("shop"), kit.sample("shop")]
    used, plain = [(ready["truth"]["address"], process.pid) for process, ready in processes]
    for one in (used, plain):
        load(*one, settles)
    before = compare(kit, used, plain)
    with Profiler(kit, used[1], "--sample", "1"):
        load(*used, settles)
    load(*used, settles)
    load(*plain, settles)
    after = compare(kit, used, plain)
    for process, _ in processes:
        kit.end_sample(process)
    told = "; ".join(f"{name} {', '.join(f'{100 * (one - 1):+.1f} %' for one in ratios)}" for name, ratios in (("before", before), ("after", after)))
    note(f"CPU a request, the process that was profiled by the other: {told}")
    return Row("CPU time of a request after removal", "%", 100 * (statistics.median(after) / statistics.median(before) - 1), 1)


def run(kit):
    process, ready = kit.sample("shop")
    address = ready["truth"]["address"]
    rows = probe_rows(kit, address, process.pid)
    rows.append(load_row(kit, address, process.pid))
    kit.end_sample(process)
    rows.append(removal_row(kit))
    return rows
