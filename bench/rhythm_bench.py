"""Whether samples stay right when a program works in a fixed rhythm: two methods take turns in 60 and 40 % of each of its periods, which are swept over the sampler's own and far to both sides.

The truth is the program's own, by its thread's CPU clock. 10,000 samples of each period, with --long 100,000.
"""
import json
import sys

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


def burn(kit, period, look):
    """Runs the program and looks at it: what was seen, and its own word for the long method's share."""
    process, ready = kit.sample("cpu-rhythm", "--period-us", str(period))
    share, samples = look(ready["pid"])
    return share, samples, kit.end_sample(process)["truth"]["methods"][0]["percent"]


def run(kit):
    wanted = 500 if kit.quick else 100_000 if kit.long else 10_000
    periods = [1001.001] if kit.quick else PERIODS
    seconds = wanted / RATE
    trace = kit.tmp / "rhythm.nettrace"
    errors = {}
    for period in periods:
        def ours(pid):
            done = kit.weigh(kit.clrscope, "collect", "-p", pid, "--profile", "cpu-sampling", "--rate", str(RATE), "--duration",
                             f"{int(1000 * seconds)}ms", "-o", trace)
            if done.code != 0:
                raise RuntimeError(f"collect ended with {done.code}: {done.err.strip()[-300:]}")
            return seen(kit, trace)

        share, samples, true = burn(kit, period, ours)
        errors[period] = abs(share - true)
        note(f"{period:g} us: true {true:.2f} %, seen {share:.2f} % of {samples:,} samples")
    worst = max(errors, key=errors.get)
    return [Row(f"largest error over {len(errors)} periods of the program ({worst:g} us)", "points", errors[worst], None if kit.quick else 1)]
