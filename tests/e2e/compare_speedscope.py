#!/usr/bin/env python3
"""Compares two speedscope files by method and time, thread by thread.

    compare_speedscope.py OURS THEIRS [--percent 1] [--states] [-v]

A method's time is what it has alone (self) and with all it called (total), in milliseconds; overloads are one method,
since the two tools write arguments differently. dotnet-trace gives the last sample of a thread no time, we do: that much
more, the same for all methods of the thread, ours may have; else each must agree within --percent of the larger one. --states also compares CPU_TIME and
UNMANAGED_CODE_TIME below the methods; without it their time is the method's own. Prints one JSON object; exit code 1
when they differ.
"""
import argparse
import collections
import json
import re
import sys

FACTORS = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1, "seconds": 1e3}
SAME_MS = 0.01  # the two round differently
# What dotnet-trace puts above the first method of a thread.
ROOTS = re.compile(r"Process\d+ .*|Threads|\(Non-Activities\)|Thread \(\d+\).*")

ROOTS_AND_STATES = re.compile(ROOTS.pattern + "|CPU_TIME|UNMANAGED_CODE_TIME")


def method_of(name):
    """'Module!Space.Type.Method(class System.String)' → 'Space.Type.Method'."""
    return name.split("(", 1)[0].split("!", 1)[-1]


def thread_of(name):
    found = re.search(r"Thread \((\d+)\)", name)
    return found.group(1) if found else name


def times_of(path, states):
    """Thread → method → [self, total] in ms, with the whole time of the thread under ''."""
    with open(path) as file:
        trace = json.load(file)
    hidden = ROOTS if states else ROOTS_AND_STATES
    names = [None if hidden.fullmatch(frame["name"]) else method_of(frame["name"]) for frame in trace["shared"]["frames"]]
    threads = collections.defaultdict(lambda: collections.defaultdict(lambda: [0.0, 0.0]))
    for profile in trace["profiles"]:
        if profile["type"] != "evented":
            raise ValueError(f"{path}: {profile['name']} is {profile['type']}, not evented")
        add_profile(profile, names, threads[thread_of(profile["name"])], path)
    return threads


def add_profile(profile, names, times, path):
    factor = FACTORS[profile["unit"]]
    stack, before = [], profile["startValue"]
    for event in profile["events"]:
        at = event["at"]
        if at < before:
            raise ValueError(f"{path}: time goes back from {before} to {at} in {profile['name']}")
        took, before = (at - before) * factor, at
        shown = [names[frame] for frame in stack if names[frame] is not None]
        if shown and took:
            times[shown[-1]][0] += took
            for name in set(shown):
                times[name][1] += took
            times[""][1] += took
        if event["type"] == "O":
            stack.append(event["frame"])
        elif not stack or stack.pop() != event["frame"]:
            raise ValueError(f"{path}: frame {event['frame']} closes out of order at {at} in {profile['name']}")
    if stack:
        raise ValueError(f"{path}: {len(stack)} frames stay open in {profile['name']}")


def differences(ours, theirs, percent):
    for thread in sorted(set(ours) | set(theirs)):
        last_sample = max(ours[thread][""][1] - theirs[thread][""][1], 0) + SAME_MS
        for method in sorted(set(ours[thread]) | set(theirs[thread])):
            for kind, index in (("self", 0), ("total", 1)):
                a, b = ours[thread][method][index], theirs[thread][method][index]
                if abs(a - b) > percent / 100 * max(a, b) and not -SAME_MS <= a - b <= last_sample:
                    yield {"thread": thread, "method": method, "kind": kind, "oursMs": a, "theirsMs": b}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("--percent", type=float, default=1)
    parser.add_argument("--states", action="store_true")
    parser.add_argument("-v", action="store_true", help="list every difference")
    options = parser.parse_args()
    ours, theirs = times_of(options.ours, options.states), times_of(options.theirs, options.states)
    found = list(differences(ours, theirs, options.percent))
    methods = {method for times in theirs.values() for method in times if method}
    unknown = {method for times in ours.values() for method in times if method} - methods
    print(json.dumps({
        "threads": len(theirs),
        "methods": len(methods),
        "oursMs": sum(times[""][1] for times in ours.values()),
        "theirsMs": sum(times[""][1] for times in theirs.values()),
        "different": len(found),
        "onlyOurs": sorted(unknown),
        "first": found if options.v else found[:5],
    }, indent=1))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
