#!/usr/bin/env python3
"""Compares the heap that the agent counted with what the sample says and what clrscope heap read.

    check_agent_heap.py TRUTH INSIDE.json OUTSIDE.json

Types that the sample knows must have exactly its counts, and the bytes that were read from outside. Of the others, some objects
come and go between the two looks: `same` is the share of types with equal counts and bytes. Where a collection told the
objects, there are none that nobody refers to any more: no type may have more objects than were read from outside.
"""
import json
import sys


def main():
    truth, inside, outside = json.loads(sys.argv[1]), *(json.load(open(path)) for path in sys.argv[2:4])
    mine, theirs = ({one["type"]: one for one in heap["types"]} for heap in (inside, outside))
    differences = []
    for one in truth["types"]:
        name = one["type"]
        if mine.get(name, {}).get("count") != one["count"]:
            differences.append({"type": name, "truth": one["count"], "inside": mine.get(name)})
        elif name in theirs and mine[name]["bytes"] != theirs[name]["bytes"]:
            differences.append({"type": name, "outside": theirs[name]["bytes"], "inside": mine[name]["bytes"]})
    both = [(mine[name], theirs[name]) for name in theirs if name in mine]
    same = sum(a["count"] == b["count"] and a["bytes"] == b["bytes"] for a, b in both)
    alive = inside["source"] == "events"
    if alive:
        differences += [{"type": a["type"], "outside": b["count"], "inside": a["count"]} for a, b in both
                        if a["count"] > b["count"] + 20]
    print(json.dumps({"differences": differences, "compared": len(both), "same": 1 if alive else same / len(both)}))


main()
