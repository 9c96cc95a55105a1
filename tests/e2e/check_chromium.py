#!/usr/bin/env python3
"""Checks that a trace-event file is valid JSON whose slices nest on each thread: check_chromium.py FILE"""
import collections
import json
import sys

with open(sys.argv[1]) as file:
    events = json.load(file)["traceEvents"]
depth, last, named = collections.Counter(), {}, set()
for event in events:
    thread = event.get("tid")
    if event["ph"] == "M":
        named.add(thread)
        continue
    assert event["ph"] in "BE", event
    assert event["ts"] >= last.get(thread, 0), f"time goes back: {event}"
    last[thread] = event["ts"]
    depth[thread] += 1 if event["ph"] == "B" else -1
    assert depth[thread] >= 0, f"an end without a beginning: {event}"
assert not any(depth.values()), f"slices stay open: {depth}"
print(json.dumps({"threads": len(last), "slices": sum(event["ph"] == "B" for event in events), "unnamed": len(set(last) - named)}))
