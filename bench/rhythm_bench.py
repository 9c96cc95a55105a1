"""Whether samples stay right when a program works in a fixed rhythm: two methods take turns in 60 and 40 % of each of its periods, which are swept over the sampler's own and far to both sides.

The truth is the program's own, by its thread's CPU clock. Beside perf record, whose period is fixed.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from kit import Row

PERIODS = [500, 750, 900, 999, 1000, 1001.001, 1100, 1250, 1500, 2002, 3003, 5005]  # us
RATE = 999


def note(text):
    print(f"bench/run: rhythm: {text}", file=sys.stderr)


def seen(kit, path):
    """Per cent of the time in both methods that the long one has, and how many samples there are."""
    done = kit.weigh(kit.clrscope, "report", path, "cpu", "--json")
    if done.code != 0:
        raise RuntimeError(f"report ended with {done.code}: {done.err.strip()[-300:]}")
    total = {}
    samples = 0
    for row in json.loads(done.out)["methods"]:
        for name in "LongPart", "ShortPart":
            if f"CpuRhythm.{name}(" in row["method"]:
                total[name] = total.get(name, 0) + row["total"]
                samples += row["totalSamples"]
    return 100 * total.get("LongPart", 0) / max(sum(total.values()), 1e-9), samples


def seen_by_perf(kit, data):
    """The same of perf, with the names of the runtime's perf map."""
    text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], capture_output=True, text=True, env=kit.env).stdout
    count = {name: text.count(f"::{name}(") for name in ("LongPart", "ShortPart")}
    return 100 * count["LongPart"] / max(sum(count.values()), 1), sum(count.values())


def burn(kit, period, look):
    """Runs the program and looks at it: what was seen, and its own word for the long method's share."""
    env = dict(kit.env, DOTNET_PerfMapEnabled="1", DOTNET_PerfMapJitDumpPath="/tmp")  # where perf looks for it
    path = pathlib.Path(kit.tool("publish_samples")) / "net10.0" / "samples"
    process = subprocess.Popen([str(path), "cpu-rhythm", "--period-us", str(period)], stdout=subprocess.PIPE, text=True, env=env)
    kit.started.append(process)
    ready = json.loads(process.stdout.readline())
    share, samples = look(ready["pid"])
    process.send_signal(signal.SIGTERM)
    pathlib.Path(f"/tmp/perf-{ready['pid']}.map").unlink(missing_ok=True)
    return share, samples, json.loads(process.communicate(timeout=60)[0].strip().splitlines()[-1])["truth"]["methods"][0]["percent"]


def run(kit):
    wanted = 500 if kit.quick else 100_000 if kit.long else 10_000
    periods = [1001.001] if kit.quick else PERIODS
    seconds = wanted / RATE
    trace, data = kit.tmp / "rhythm.nettrace", kit.tmp / "rhythm.perf"
    errors, theirs = {}, {}
    for period in periods:
        def ours(pid):
            done = kit.weigh(kit.clrscope, "collect", "-p", pid, "--profile", "cpu-sampling", "--rate", str(RATE), "--duration",
                             f"{int(1000 * seconds)}ms", "-o", trace)
            if done.code != 0:
                raise RuntimeError(f"collect ended with {done.code}: {done.err.strip()[-300:]}")
            return seen(kit, trace)

        def perf(pid):
            subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE), "-p", str(pid), "-o", str(data), "--", "sleep", str(seconds)],
                           check=True, capture_output=True)
            return seen_by_perf(kit, data)

        share, samples, true = burn(kit, period, ours)
        errors[period] = abs(share - true)
        line = f"{period:g} us: true {true:.2f} %, seen {share:.2f} % of {samples:,} samples"
        if shutil.which("perf") and os.getuid() == 0:
            share, samples, true = burn(kit, period, perf)
            theirs[period] = abs(share - true) if samples else None
            line += f"; perf {share:.2f} % of {samples:,} (true {true:.2f})"
        note(line)
    worst = max(errors, key=errors.get)
    told = [value for value in theirs.values() if value is not None]
    return [Row(f"largest error over {len(errors)} periods of the program ({worst:g} us)", "points", errors[worst], None if kit.quick else 1,
                max(told) if told else None, "perf record")]
