#!/usr/bin/env python3
"""Compares profiled requests with what `samples shop` knows of them and what `samples shop-load` sent.

    check_request_spans.py PROFILE TRUTH IDS      clrscope requests --json, GET /truth of the shop, the file of shop-load --ids

No trace id may be made up or crossed. Each kept request must have the route and the status of its trace id, and one span for each
call that the shop measured in it, by the same caller. A span covers the call that measured itself, and in the middle lasts as long.
"""
import collections
import json
import statistics
import sys

CLOCK = 0.02  # ms by which two readings of one clock may differ after conversion
ITERATOR = "Samples.Shop.Products.StreamAsync"
CLOSE = 0.05  # ms by which half of the spans may be longer than what they cover


def measured_only(spans):
    """Spans of methods that measure themselves. Constructors and lambdas do not: what they call is their callers'. An async iterator has
    a span for each item, the shop one call for all."""
    parents, kept, first = {0: 0}, [], {}
    for span in spans:
        parent = parents[span["parent"]]
        name = span["method"]
        if name.endswith((".ctor", ".cctor", "(lambda)")):
            parents[span["id"]] = parent
        elif name == ITERATOR and (name, parent) in first:
            parents[span["id"]] = first[name, parent]
        else:
            parents[span["id"]] = span["id"]
            first[name, parent] = span["id"]
            kept.append({**span, "parent": parent})
    return kept


def shape(calls):
    """How often each method was called by each."""
    methods = {call["id"]: call["method"] for call in calls}
    return collections.Counter((call["method"], methods.get(call["parent"], "")) for call in calls)


def durations(calls):
    """By method, in order of begin."""
    found = collections.defaultdict(list)
    for call in sorted(calls, key=lambda call: call["startMs"]):
        found[call["method"]].append(call)
    return found


def main():
    profile = json.loads(open(sys.argv[1]).read())
    truth = {one["traceId"]: one for one in json.loads(open(sys.argv[2]).read())["requests"]}
    sent = {one["traceId"]: one for one in map(json.loads, open(sys.argv[3]))}
    wrong, excess, compared, spans = [], [], 0, 0
    routes = set()
    if profile["seen"] < len(sent):
        wrong.append(f"{profile['seen']} requests were seen, {len(sent)} were sent")
    for request in profile["requests"]:
        name = f"{request['method']} {request['path']} {request['traceId']}"
        one = sent.get(request["traceId"])
        if one is None:
            if request["route"] != "/truth":
                wrong.append(f"{name}: nobody sent this trace id")
            continue
        known = truth[request["traceId"]]
        compared += 1
        routes.add(f"{request['method']} {request['route']}")
        if (request["method"], request["route"], request["path"]) != (one["method"], one["route"], one["path"]):
            wrong.append(f"{name}: is {request['route']}, was sent to {one['route']} {one['path']}")
        if request["status"] != known["status"]:
            wrong.append(f"{name}: status {request['status']}, not {known['status']}")
        if request["durationMs"] < known["durationMs"] - CLOCK:
            wrong.append(f"{name}: {request['durationMs']:.3f} ms, shorter than {known['durationMs']:.3f} ms")
        if request["spansLost"]:
            continue
        own = measured_only(request["spans"])
        if shape(own) != shape(known["calls"]):
            missing, more = shape(known["calls"]) - shape(own), shape(own) - shape(known["calls"])
            wrong.append(f"{name}: missing {dict(missing)}, too many {dict(more)}")
            continue
        measured = durations(own)
        for method, calls in durations(known["calls"]).items():
            if method == ITERATOR:
                continue
            for span, call in zip(measured[method], calls):
                spans += 1
                if call["durationMs"] is None or span["outcome"] == "open":
                    continue
                excess.append(span["durationMs"] - call["durationMs"])
                if len(calls) == 1 and excess[-1] < -CLOCK:
                    wrong.append(f"{name}: {method} took {span['durationMs']:.3f} ms, shorter than {call['durationMs']:.3f} ms")
    if excess and statistics.median(excess) > CLOSE:
        wrong.append(f"in the middle, spans are {statistics.median(excess):.3f} ms longer than the calls they cover")
    for line in wrong[:40]:
        print(line)
    middle = statistics.median(excess) if excess else 0
    print(f"{compared} requests of {len(routes)} routes and {spans} spans compared, in the middle {middle * 1000:.1f} us longer, {len(wrong)} wrong")
    return 1 if wrong or not spans else 0


sys.exit(main())
