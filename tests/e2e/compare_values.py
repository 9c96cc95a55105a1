#!/usr/bin/env python3
"""Compares the fields of our lines of events with those that TraceEvent reads: compare_values.py OURS THEIRS PROVIDER…

OURS is `clrscope convert --format ndjson`, THEIRS is what `oracle events FILE --values` printed. Events of a thread come
in the same order in both. Every name and every value of the fields of these providers must be the same. Prints one JSON
object: how many events and fields of each provider, how many differ; exit code 1 when one does.
"""
import collections
import json
import sys


def events_of(path, thread, time, providers):
    threads = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            event = json.loads(line)
            if event["provider"] in providers:
                threads[event["provider"], event[thread], event["id"]].append(event)
    for events in threads.values():
        events.sort(key=lambda event: event[time])
    return threads


def same(ours, theirs):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


providers = sys.argv[3:]
ours, theirs = events_of(sys.argv[1], "osId", "atMs", providers), events_of(sys.argv[2], "threadId", "timeMs", providers)
found = {provider: {"events": 0, "kinds": 0, "fields": 0} for provider in providers}
kinds = collections.defaultdict(set)
different = {}
for where in ours.keys() | theirs.keys():
    if len(ours[where]) != len(theirs[where]):
        different[str(where)] = [len(ours[where]), len(theirs[where])]
    for mine, other in zip(ours[where], theirs[where]):
        provider = mine["provider"]
        payload, values = mine.get("payload", {}), other["values"]
        found[provider]["events"] += 1
        found[provider]["fields"] += len(payload)
        kinds[provider].add(mine["id"])
        if "payloadHex" in mine or list(payload) != list(values) or not same(payload, values):
            different.setdefault(f"{provider}/{mine['name']}", [mine.get("payload", mine.get("payloadHex")), values])
for provider in providers:
    found[provider]["kinds"] = len(kinds[provider])
print(json.dumps({"providers": found, "different": len(different), "first": dict(list(different.items())[:8])}, indent=1))
sys.exit(1 if different else 0)
