#!/usr/bin/env python3
"""Holds what the heap reader says against what the sample knows of itself: check_heap.py WHAT TRUTH INSPECT_HEAP PID|CORE [options].

WHAT: `heap` (the sample `heap`: types, roots, handles, finalizers, strings), `program` (likewise, of a sample that is started first: its
path instead of PID), `alive` (types and what roots lead to), `counts` (types only, while it allocates),
`damaged` (a core of which pieces are overwritten: the reader answers or refuses, and never counts more than there is).
"""
import json
import pathlib
import random
import subprocess
import sys


def look(program, target, *options):
    run = subprocess.run([program, target, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{program} {target} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def differences_of_counts(heap, truth, in_the_making=0):
    if heap["unreadBytes"] > in_the_making or heap["unresolvedEdges"]:
        yield f"unread: {heap['unreadBytes']} bytes, unresolved: {heap['unresolvedEdges']} references, notes: {heap['notes']}"
    for known in truth["types"]:
        seen = heap["types"].get(known["type"], {"count": 0, "bytes": 0})
        if seen["count"] != known["count"] and not (known.get("atLeast") and seen["count"] > known["count"]):
            yield f"{known['type']}: {seen['count']} instead of {known['count']}"
        if "bytes" in known and not known["atLeast"] and seen["bytes"] != known["bytes"]:
            yield f"{known['type']}: {seen['bytes']} bytes instead of {known['bytes']}"
    for segment in heap["segments"]:
        if segment["objectBytes"] + segment["freeBytes"] > segment["bytes"]:
            yield f"more in a segment than it has: {segment}"
    if sum(s["objects"] for s in heap["segments"]) != heap["objects"]:
        yield "the objects of the segments are not all"


def differences_of_life(heap, truth):
    yield from differences_of_counts(heap, truth)
    for known in truth["types"]:
        alive = heap["reachable"].get(known["type"], 0)
        if alive != known["count"]:
            yield f"{known['type']}: roots lead to {alive} of {known['count']}"


def differences(heap, truth):
    yield from differences_of_life(heap, truth)
    version = int(heap["runtime"].split(".")[0])
    roots = {}
    for root in heap["roots"]:
        roots.setdefault(root["type"], set()).add((root["kind"], root["name"]))
    # What older runtimes do not tell: generic types on 8 and 9, thread statics on 8.
    unnamed = {8: ["KnownGeneric", "KnownScratch"], 9: ["KnownGeneric"]}.get(version, [])
    for kind, name in truth["roots"].items():
        if name not in {n for _, n in roots.get(kind, ())} and kind.split(".")[-1] not in unnamed:
            yield f"{kind} has no root {name}, but {roots.get(kind)}"
    if "pinned handle" not in {k for k, _ in roots.get(truth["pinned"], ())}:
        yield f"{truth['pinned']} is not pinned"
    local = truth["local"]
    if ("stack", f"thread {local['osId']}: {local['method']}") not in roots.get(local["type"], ()):
        yield f"{local['type']} is not on the stack of {local['method']}, but {roots.get(local['type'])}"
    # One of them is with its finalizer, and no longer in the queue.
    due = sum(r["kind"] == "finalizer queue" and r["type"] == "Samples.Symptoms.KnownDue" for r in heap["roots"])
    if due != truth["due"] - 1 or heap["toFinalize"] < due:
        yield f"{due} of {truth['due']} wait for their finalizer, {heap['toFinalize']} of all"
    if heap["handles"].get("dependent", 0) < truth["attached"]:
        yield f"dependent handles: {heap['handles']}"
    copied = [s for s in heap["equalStrings"] if s["value"] == truth["copied"]]
    if not copied or copied[0]["count"] < truth["copies"]:
        yield f"equal strings: {copied}"
    large = [s for s in heap["segments"] if s["generation"] == "large"]
    if sum(s["objectBytes"] for s in large) < truth["large"]:
        yield f"large objects: {large}"


def damage(program, core):
    """Overwrites pieces of a core, again and again."""
    whole = pathlib.Path(core).read_bytes()
    random.seed(19)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(4):
        bytes_ = bytearray(whole)
        for _ in range(2000):
            at = random.randrange(4096, len(bytes_) - 64)
            size = random.choice([1, 8, 64])
            bytes_[at:at + size] = random.randbytes(size)
        damaged = core + ".damaged"
        pathlib.Path(damaged).write_bytes(bytes_)
        run = subprocess.run([program, damaged, "--strings"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode not in (0, 2):
            yield f"ended with {run.returncode}: {run.stderr[-500:]}"
        outcomes["read" if run.returncode == 0 else "refused"] += 1
        if run.returncode == 0:
            heap = json.loads(run.stdout)
            room = sum(s["bytes"] for s in heap["segments"])
            if heap["bytes"] > room or heap["unreadBytes"] > room:
                yield f"{heap['bytes']} bytes of objects and {heap['unreadBytes']} unread in {room}"
    if outcomes["read"] == 0:
        yield "no damaged core could be read"


def without_name(truth):
    """Without the type that the program made at run time."""
    return truth | {"types": [t for t in truth["types"] if t["type"] != "KnownCollectible"]}


def of_program(program, sample):
    """Of a sample that is started here: as `heap`."""
    with subprocess.Popen([sample, "heap"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as app:
        try:
            ready = json.loads(app.stdout.readline())
            heap = look(program, str(ready["pid"]), "--strings")
            return heap, list(differences(heap, ready["truth"]))
        finally:
            app.kill()


def main():
    what, truth, program, target, *options = sys.argv[1:]
    truth = json.loads(truth)
    if what == "damaged":
        found, heap = list(damage(program, target)), {}
    elif what == "program":
        heap, found = of_program(program, target)
    elif what == "heap":
        heap = look(program, target, "--strings", *options)
        if heap["runtime"].startswith("8."):  # which does not name it
            truth = without_name(truth)
        found = list(differences(heap, truth))
    elif what == "alive":
        heap = look(program, target, *options)
        found = list(differences_of_life(heap, without_name(truth)))
    else:
        heap = look(program, target, "--no-references", *options)
        # A large array that a thread is just making is no object yet: two threads make some of 90,000 bytes.
        found = list(differences_of_counts(heap, without_name(truth), in_the_making=2 * 90_024))
    print(json.dumps({"differences": found, "objects": heap.get("objects"), "server": heap.get("server"),
                      "generations": sorted({s["generation"] for s in heap.get("segments", [])})}))


main()
