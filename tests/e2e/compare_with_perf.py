#!/usr/bin/env python3
"""Compares native stacks of a recording with those that `perf record --call-graph dwarf` takes of the same process.

    compare_with_perf.py PID SECONDS CLRSCOPE FOLDER

PID runs perf_oracle.c. Both record it at the same time, clrscope as a part of the whole machine, until it has used SECONDS of
processor time: so many samples there are then, however busy the machine is. Compared are whole chains of
functions, from oracle_main to the leaf, by their share of the samples. Writes JSON: how far the two are apart, in percent points
summed over chains and halved (0: the same, 100: nothing in common), and how many chains of 10 % or more only one of them has.
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

MARKS = {"CPU_TIME"}  # a leaf of our own that says what the sample is
PATIENCE = 120  # seconds
FRAME = re.compile(r"^\s+[0-9a-f]+ (\S+?)(?:\+0x[0-9a-f]+)? \((.*)\)$")


def plain(name):
    """Without version and the compiler's suffixes: two symbols of one address have several."""
    name = name.split("@")[0].split(".")[0]
    return name.lstrip("_").removeprefix("GI_").lstrip("_")


def chains(stacks):
    """Shares of the chains, of frames innermost first, and how many stacks there are; each comes with what it counts."""
    counted, found = collections.Counter(), 0
    for stack, weight in stacks:
        names = [name for name in map(plain, stack) if name not in MARKS]
        # How deep a merge sort is says nothing, and makes many rare chains.
        names = [name for i, name in enumerate(names) if name != "msort_with_tmp" or names[i - 1] != name]
        if "oracle_main" in names:
            counted["<".join(names[:names.index("oracle_main")])] += weight
            found += 1
    total = sum(counted.values())
    return {chain: 100 * n / total for chain, n in counted.items()} if total else {}, found


def of_perf(data):
    text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym,dso"], capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        frames = [FRAME.match(line) for line in block.splitlines()]
        yield [f[1] for f in frames if f], 1


def of_clrscope(folded):
    for line in folded.splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = [frame.rpartition("!")[2] for frame in reversed(stack.split(";"))]
        user = next((i for i, frame in enumerate(frames) if "oracle_" in frame), 0)
        yield [f for i, f in enumerate(frames) if i >= user or not f.startswith("[kernel")], int(weight)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"compare_with_perf: {what}")
        time.sleep(0.05)


def record(pid, seconds, clrscope, data, trace):
    perf = subprocess.Popen(["perf", "record", "-q", "-B", "-N", "-F", "499", "-e", "cpu-clock:u", "--call-graph", "dwarf,8192",
                             "-p", pid, "-o", data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    messages = pathlib.Path(trace + ".stderr")
    with messages.open("w") as stderr:
        ours = subprocess.Popen([clrscope, "collect", "-a", "--profile", "cpu-sampling", "--duration", "10m", "-o", trace],
                                stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        until(lambda: "Recording" in messages.read_text() and os.path.exists(data) and os.path.getsize(data) > 0, "they do not record")
        begin = cpu_seconds(pid)
        until(lambda: cpu_seconds(pid) >= begin + seconds, f"process {pid} did not get {seconds} s of processor time")
    finally:
        for process in (perf, ours):
            process.send_signal(signal.SIGINT)
        perf.wait(PATIENCE)
        if ours.wait(PATIENCE) != 0:
            sys.exit(f"compare_with_perf: clrscope ended with {ours.returncode}: {messages.read_text()}")


def main(pid, seconds, clrscope, folder):
    data, trace, folded = f"{folder}/perf.data", f"{folder}/perf.nettrace", f"{folder}/perf.folded"
    record(pid, float(seconds), clrscope, data, trace)
    subprocess.run([clrscope, "convert", trace, "--format", "collapsed", "-o", folded], check=True, capture_output=True)
    theirs, their_samples = chains(of_perf(data))
    ours, our_stacks = chains(of_clrscope(pathlib.Path(folded).read_text()))
    apart = sum(abs(theirs.get(c, 0) - ours.get(c, 0)) for c in theirs.keys() | ours.keys()) / 2
    top = sorted(theirs.keys() | ours.keys(), key=lambda c: -theirs.get(c, 0) - ours.get(c, 0))[:8]
    alone = sum(1 for c in theirs.keys() | ours.keys()
                if max(theirs.get(c, 0), ours.get(c, 0)) >= 10 and not (c in theirs and c in ours))
    print(json.dumps({"apart": round(apart, 2), "alone": alone, "perfSamples": their_samples, "stacks": our_stacks,
                      "chains": [{"chain": c, "perf": round(theirs.get(c, 0), 1), "ours": round(ours.get(c, 0), 1)} for c in top]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
