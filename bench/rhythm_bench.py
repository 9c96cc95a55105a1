"""Whether samples stay right when a program works in a fixed rhythm: two methods take turns in 60 and 40 % of each of its periods, which are swept over the sampler's own and far to both sides.

The truth is the program's own, by its thread's CPU clock. 10,000 samples of each period, with --long 100,000. As many programs run at the same time as there are CPUs.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

from kit import Row

PERIODS = [500, 750, 900, 999, 1000, 1001.001, 1100, 1250, 1500, 2002, 3003, 5005]  # us
RATE = 999


def note(text):
    print(f"bench/run: rhythm: {text}", file=sys.stderr)


def clrscope(kit, *words):
    done = subprocess.run([kit.clrscope, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=kit.env)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def seen(kit, path):
    """Per cent of the time in both methods that the long one has, and how many samples there are."""
    total = {}
    samples = 0
    for row in json.loads(clrscope(kit, "report", path, "cpu", "--json"))["methods"]:
        for name in "LongPart", "ShortPart":
            if f"CpuRhythm.{name}(" in row["method"]:
                total[name] = total.get(name, 0) + row["total"]
                samples += row["totalSamples"]
    return 100 * total.get("LongPart", 0) / max(sum(total.values()), 1e-9), samples


def burn(kit, period, seconds):
    """Runs the program and looks at it: what was seen of the long method's share, in how many samples, and the program's own word for it."""
    trace = kit.tmp / f"rhythm-{period:g}.nettrace"
    process, ready = kit.sample("cpu-rhythm", "--period-us", str(period))
    clrscope(kit, "collect", "-p", ready["pid"], "--profile", "cpu-sampling", "--rate", RATE, "--duration", f"{int(1000 * seconds)}ms", "-o", trace)
    share, samples = seen(kit, trace)
    trace.unlink()
    true = kit.end_sample(process)["truth"]["methods"][0]["percent"]
    note(f"{period:g} us: true {true:.2f} %, seen {share:.2f} % of {samples:,} samples")
    return abs(share - true)


def run(kit):
    wanted = 500 if kit.quick else 100_000 if kit.long else 10_000
    periods = [1001.001] if kit.quick else PERIODS
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = dict(zip(periods, pool.map(lambda period: burn(kit, period, 1.03 * wanted / RATE), periods)))
    worst = max(errors, key=errors.get)
    return [Row(f"largest error over {len(errors)} periods of the program ({worst:g} us)", "points", errors[worst], None if kit.quick else 1)]
