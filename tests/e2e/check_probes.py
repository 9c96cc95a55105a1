#!/usr/bin/env python3
"""Compares what the agent measured with what `samples probes` knows.

    check_probes.py DONE SEEN      two files: the last line of the sample, and agent methods --json

Calls must be equal. Where the sample has times, a method must take no longer than the time around its calls and no less than the
work inside, each within 1 % and 1 microsecond per call. On a busy machine the two differ by what happens between the two clocks.
"""
import json
import sys


def main():
    done, seen = (json.loads(open(path).read().strip().splitlines()[-1]) for path in sys.argv[1:3])
    measured = {one["method"]: one for one in seen["methods"]}
    wrong, timed = [], 0
    for truth in done["truth"]["methods"]:
        name, calls, elapsed = truth["Method"], truth["Calls"], truth["ElapsedMs"]
        one = measured.get(name)
        if one is None:
            wrong.append(f"{name} was not measured")
            continue
        if one["calls"] != calls or one.get("running", 0) != 0:
            wrong.append(f"{name}: {one['calls']} calls and {one.get('running', 0)} running, not {calls}")
        if one["selfMs"] > one["totalMs"] or one["shortestMs"] > one["longestMs"]:
            wrong.append(f"{name}: times contradict each other: {one}")
        if elapsed is None:
            continue
        timed += 1
        least, most = truth["WorkMs"] * 0.99 - calls * 0.001, elapsed * 1.01 + calls * 0.001
        if not least <= one["totalMs"] <= most:
            wrong.append(f"{name}: {one['totalMs']:.3f} ms, not {truth['WorkMs']:.3f} to {elapsed:.3f} ms")
    outer, inner = (measured[f"Samples.Symptoms.Probed.{name}"] for name in ("Outer", "Inner"))
    if abs(outer["totalMs"] - outer["selfMs"] - inner["totalMs"]) > inner["totalMs"] * 0.01 + inner["calls"] * 0.001:
        wrong.append(f"self time of Outer: {outer}, Inner: {inner}")
    for line in wrong:
        print(line)
    print(f"{len(done['truth']['methods'])} methods compared, {timed} timed, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
