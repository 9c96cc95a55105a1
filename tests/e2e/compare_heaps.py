#!/usr/bin/env python3
"""Compares what two readers say about one heap.

    compare_heaps.py truth OURS.json TRUTH      the objects that a sample made are there, with their sizes
    compare_heaps.py same OURS.json OTHER.json  objects, bytes and references are equal, in all and by type
    compare_heaps.py ids OURS.json OTHER.json   of types with a hundred objects or more, by their ids: the same count and bytes
    compare_heaps.py report OURS.json REPORT    dotnet-gcdump's report of the same file: counts by type, bytes of all

Prints JSON: {types, different: [...]}.
"""
import json
import re
import sys


def by_type(heap):
    types = {}
    for one in heap["types"]:
        count, size = types.get(one["type"], (0, 0))
        types[one["type"]] = (count + one["count"], size + one["bytes"])
    return types


def differences(ours, other):
    return [{"type": name, "ours": ours.get(name), "other": other.get(name)}
            for name in sorted(ours.keys() | other.keys()) if ours.get(name) != other.get(name)]


def check_truth(heap, truth):
    """Samples make some objects more than they count: no type may have fewer."""
    ours = by_type(heap)
    different = []
    for one in truth["types"]:
        name = one["type"]
        count, size = ours.get(name, (0, 0))
        # The list with one element more or less is made while the sizes are measured.
        exact = not one["atLeast"] and not name.endswith("[]")
        # The runtime's events tell sizes before they are rounded up to 8 bytes.
        fits = (count, size) == (one["count"], one["bytes"]) if exact else count >= one["count"] and size + 7 * count >= one["bytes"]
        if not fits:
            different.append({"type": name, "ours": [count, size], "other": [one["count"], one["bytes"]]})
    return {"types": len(truth["types"]), "different": different}


def check_same(heap, other):
    ours, theirs = by_type(heap), by_type(other)
    different = differences(ours, theirs)
    for what in ("objects", "bytes", "references"):
        if heap[what] != other[what]:
            different.append({"type": what, "ours": heap[what], "other": other[what]})
    return {"types": len(ours), "different": different}


def check_ids(heap, other, least=100):
    """One was read after the other: a few objects of the runtime's own come and go, in types of which there are always some."""
    moving = re.compile(r"^System\.(String|Byte\[\]|Object(\[\])?|Char\[\]|Int32\[\]|RuntimeType|Reflection\..*|Runtime\..*)$")
    ours, theirs = ({one["id"]: (one["count"], one["bytes"]) for one in side["types"]} for side in (heap, other))
    names = {one["id"]: one["type"] for one in heap["types"]}
    many = [id for id, (count, _) in ours.items() if count >= least and not moving.match(names[id])]
    different = [{"type": names[id], "ours": ours[id], "other": theirs.get(id)} for id in many if ours[id] != theirs.get(id)]
    return {"types": len(many), "different": different}


def check_report(heap, text):
    """Types that the report leaves out, or splits by the size of objects, are put together; nodes that stand for roots are not objects."""
    theirs = {}
    total = int(re.search(r"([\d,]+)  GC Heap bytes", text)[1].replace(",", ""))
    for line in text.splitlines():
        found = re.match(r" *[\d,]+ +([\d,]+)  (.*?)(?:  \[[^\]]*\])?$", line)
        if found:
            name = re.sub(r" \(Bytes > \w+\)$", "", found[2])
            theirs[name] = theirs.get(name, 0) + int(found[1].replace(",", ""))
    ours = {name: count for name, (count, _) in by_type(heap).items()}
    different = differences(ours, theirs)
    if heap["bytes"] != total:
        different.append({"type": "bytes", "ours": heap["bytes"], "other": total})
    return {"types": len(ours), "different": different}


def main():
    what, ours, other = sys.argv[1:4]
    with open(ours) as file:
        heap = json.load(file)
    if what == "truth":
        answer = check_truth(heap, json.loads(other))
    else:
        with open(other) as file:
            text = file.read()
        checks = {"same": lambda: check_same(heap, json.loads(text)), "ids": lambda: check_ids(heap, json.loads(text)),
                  "report": lambda: check_report(heap, text)}
        answer = checks[what]()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
