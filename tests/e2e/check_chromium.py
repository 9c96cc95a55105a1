#!/usr/bin/env python3
"""Checks that a trace-event file is valid JSON whose slices nest on each thread: check_chromium.py FILE"""
import collections
import json
import sys

with open(sys.argv[1]) as file:
    events = json.load(file)["traceEvents"]
opened, last, named = collections.defaultdict(list), {}, set()
for event in events:
    thread = event.get("tid")
    if event["ph"] == "M":
        named.add(thread)
        continue
    assert event["ph"] in "BE", event
    assert event["ts"] >= last.get(thread, 0), f"time goes back: {event}"
    last[thread] = event["ts"]
    if event["ph"] == "B":
        opened[thread].append(event["name"])
        continue
    assert opened[thread], f"an end without a beginning: {event}"
    assert opened[thread].pop() == event["name"], f"an end of something else: {event}"
assert not any(opened.values()), f"slices stay open: {opened}"
print(json.dumps({"threads": len(last), "slices": sum(event["ph"] == "B" for event in events), "unnamed": len(set(last) - named)}))
