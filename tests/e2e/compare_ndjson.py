#!/usr/bin/env python3
"""Compares our lines of events with the oracle's: compare_ndjson.py OURS THEIRS

THEIRS is what `oracle events FILE` printed. Both are counted by provider, id, process and thread, their names and
times compared to the microsecond. Prints one JSON object; exit code 1 when they differ.
"""
import collections
import json
import sys


def lines_of(path):
    with open(path) as file:
        for line in file:
            yield json.loads(line)


def key(event, pid, thread):
    return event["provider"], event["id"], event[pid], event[thread]


# (provider, id) → what each calls it; TraceEvent has no names for some, and says EventID(n).
names = collections.defaultdict(lambda: [set(), set()])
ours, theirs = collections.Counter(), collections.Counter()
our_times, their_times = [], []
undescribed = set()
for event in lines_of(sys.argv[1]):
    ours[key(event, "pid", "osId")] += 1
    names[event["provider"], event["id"]][0].add(event["name"])
    our_times.append(event["atMs"])
    if "payloadHex" in event:
        undescribed.add(event["name"])
for event in lines_of(sys.argv[2]):
    theirs[key(event, "processId", "threadId")] += 1
    if not event["name"].startswith("EventID("):
        names[event["provider"], event["id"]][1].add(event["name"])
    their_times.append(event["timeMs"])
late = sum(abs(a - b) > 0.001 for a, b in zip(sorted(our_times), sorted(their_times)))
different = [[list(where), ours[where], theirs[where]] for where in ours.keys() | theirs.keys() if ours[where] != theirs[where]]
different += [[list(where), sorted(a), sorted(b)] for where, (a, b) in names.items() if b and a != b]
print(json.dumps({"lines": len(our_times), "theirs": len(their_times), "kinds": len(theirs), "otherTimes": late,
                  "different": len(different), "undescribed": sorted(undescribed), "first": different[:5]}, indent=1))
sys.exit(1 if different or late else 0)
