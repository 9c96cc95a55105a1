#!/usr/bin/env python3
"""compare_image_names.py < EVENTS.ndjson: names that images gave to code compiled ahead of time, beside the runtime's own.

Reads a recording as `convert --format ndjson` writes it. A symbol in a managed module and a method event of the same code must say the
same type and method. Prints one JSON object: how many do, the handlers of methods among them, those that differ, and those of which no event tells."""
import bisect
import json
import sys


def number(value):
    return int(value, 16) if isinstance(value, str) else value


files, symbols, methods = {}, [], {}
for line in sys.stdin:
    event = json.loads(line)
    payload = event["payload"]
    if event["name"] == "ProcessMapping":
        files[number(payload["Id"])] = payload["FileName"]
    elif event["name"] == "ProcessSymbol":
        symbols.append((number(payload["StartAddress"]), payload["Name"], number(payload["MappingId"])))
    elif "MethodStartAddress" in payload:
        start = number(payload["MethodStartAddress"])
        methods[start] = (start + number(payload["MethodSize"]), f'{payload["MethodNamespace"]}.{payload["MethodName"]}(')

starts = sorted(methods)
same, handlers, differ, alone = 0, 0, [], []
for start, name, mapping in symbols:
    if not files.get(mapping, "").endswith(".dll"):
        continue
    before = bisect.bisect_right(starts, start) - 1
    if before < 0 or start >= methods[starts[before]][0]:
        alone.append(name)
    elif not name.startswith(methods[starts[before]][1]):
        differ.append([name, methods[starts[before]][1]])
    else:
        same += 1
        handlers += start != starts[before]
print(json.dumps({"same": same, "handlers": handlers, "differ": differ, "alone": sorted(set(alone))}))
