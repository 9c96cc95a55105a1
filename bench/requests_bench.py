"""What request profiling costs: one probe in its three states, and the CPU time of a request under load at default sampling.

The probe is put into a method of 2 ns of the sample shop, which times itself. What hooks take of the process's CPU time is measured by sampling it: the share of
samples in functions of the agent and of its managed helper (lib/direct_cost.py); after the profile there must be none. The branch in a method whose request is not
sampled is part of that method and not seen there; it is what the first probe row says.

As a check, two shops run under load at the same time, one of which is profiled, by turns (lib/twins.py). On a shared machine that tells a few percent only.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from direct_cost import load, share_of, stacks
from kit import Row
from twins import Estimate, Twins, percent

KEY = "bench"
MIX = str(pathlib.Path(__file__).parent / "lib/shop_mix.lua")


def note(text):
    print(f"bench/run: requests: {text}", file=sys.stderr)


class Profiler:
    """`clrscope requests` for as long as the block lasts."""

    def __init__(self, kit, pid, *options, key=None):
        self.kit, self.pid, self.options, self.key = kit, pid, options, key

    def __enter__(self):
        env = dict(self.kit.env, **({"CLRSCOPE_DEBUG_KEY": self.key} if self.key else {}))
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
    with Profiler(kit, pid, "--sample", "0", "--method-budget", "0", key=KEY) as profiler:
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


def is_ours(frame):
    return frame.startswith(("clrscope::", "Clrscope.", "dynamicClass.clrscope_")) or "clrscope::" in frame


def hook_rows(kit):
    """Of the CPU time of a shop under load: what is in hooks while it is profiled by default, and afterwards."""
    seconds, settles = (1, 1) if kit.quick else (20, 8)
    rows = []
    process, ready = kit.sample("shop")
    address = ready["truth"]["address"].rstrip("/")
    loads = {"mix of routes": ["-s", MIX, address], **{path: address + path for path in ("/orders/17", "/products/3")}}
    for path, url in list(loads.items())[:1 if kit.quick else None]:
        load(url, settles, 64).wait()
        with Profiler(kit, ready["pid"]) as profiler:
            load(url, settles, 64).wait()  # the runtime compiles instrumented methods twice
            during = stacks(kit, ready["pid"], url, seconds)
        load(url, settles, 64).wait()
        after = stacks(kit, ready["pid"], url, seconds)
        there, left = (share_of(samples, lambda frames: any(map(is_ours, frames)), seconds) for samples in (during, after))
        cost = profiler.seen["cost"]
        note(f"{path}: hooks take {there} of the CPU time of the process, clrscope says {cost['cpuPercent']:.2f} %; afterwards {left}; "
             f"{profiler.seen['seen']} requests, {profiler.seen['sampled']} sampled, {1000 * cost['processMs'] / max(profiler.seen['seen'], 1):.0f} us of CPU time a request")
        rows += [Row(f"CPU time in hooks, default sampling, {path}", "%", there.percent, 1),
                 Row(f"CPU time in hooks after removal, {path}", "%", left.percent, 0)]
    kit.end_sample(process)
    return rows


def shops(kit):
    """Two shops, warm. So many connections that both are always busy: a process that often falls idle spends a varying part of its CPU time on waking up."""
    twins = Twins([kit.sample("shop"), kit.sample("shop")], "/orders/17", connections=200)
    for _ in range(1 if kit.quick else 3):
        twins.load(1 if kit.quick else 5)
    return twins


def load_row(kit):
    """CPU of a request in a process that is profiled, beside its twin that is not; by turns, so that what differs between the two falls out."""
    rounds, seconds, settles = (1, 1, 1) if kit.quick else (8, 8, 6)
    twins = shops(kit)
    more = []
    before = twins.load(seconds)
    for turn in range(rounds):
        treated = turn % 2
        with Profiler(kit, twins.pids[treated]) as profiler:
            twins.load(settles)  # the runtime compiles instrumented methods twice
            during = twins.load(seconds)
        twins.load(settles)  # and once more without probes
        after = twins.load(seconds)
        more.append(percent(twins.ratio(during, treated) - (twins.ratio(before, treated) + twins.ratio(after, treated)) / 2))
        before = after
    for process in twins.processes:
        kit.end_sample(process)
    estimate = Estimate(more)
    note(f"CPU per request, default sampling: {estimate}; the last one saw {profiler.seen.get('seen')} requests and sampled {profiler.seen.get('sampled')}")
    return Row("CPU time of a request beside its twin's, default sampling", "%", estimate.mean)


def removal_row(kit):
    """A process that was profiled, beside its twin that never was: before the profile and after it."""
    rounds, seconds, settles = (2, 1, 1) if kit.quick else (8, 4, 8)
    twins = shops(kit)
    before = [twins.ratio(twins.load(seconds), 0) for _ in range(rounds)]
    with Profiler(kit, twins.pids[0], "--sample", "1"):
        twins.load(settles)
    twins.load(settles)
    after = [twins.ratio(twins.load(seconds), 0) for _ in range(rounds)]
    for process in twins.processes:
        kit.end_sample(process)
    estimate = Estimate([percent(one - statistics.mean(before)) for one in after])
    note(f"CPU per request after removal: {estimate}; before the profile the two differed by {Estimate([percent(one) for one in before])}")
    return Row("CPU time of a request beside its twin's after removal", "%", estimate.mean)


def run(kit):
    process, ready = kit.sample("shop")
    address = ready["truth"]["address"]
    rows = probe_rows(kit, address, process.pid)
    kit.end_sample(process)
    rows += hook_rows(kit)
    rows.append(load_row(kit))
    rows.append(removal_row(kit))
    return rows
