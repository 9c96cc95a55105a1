#!/usr/bin/env python3
"""Compares what `clrscope stacks --json` saw with what a sample says of itself.

check_stacks.py cycle|threads|native SEEN-FILE app_truth: the truth is in the environment, where a case puts it
($app_truth_threads …). check_stacks.py same SEEN-FILE SEEN-FILE, or
dac SEEN-FILE ASK-PROGRAM PID. Exits 1 with the first difference.
"""
import json
import os
import subprocess
import sys


def fail(text):
    sys.exit(f"check_stacks: {text}")


def by_os_id(seen):
    return {thread["osId"]: thread for thread in seen["threads"]}


def method_name(frame):
    """Without arguments, as truths have it."""
    return frame["method"].split("(")[0]


def truth_of(name):
    truth = {}
    for key, value in os.environ.items():
        if key.startswith(name + "_"):
            try:
                truth[key[len(name) + 1:]] = json.loads(value)
            except ValueError:
                truth[key[len(name) + 1:]] = value
    return truth


def check_cycle(seen, truth):
    wanted = set(truth["cycle"])
    if [set(cycle) for cycle in seen["cycles"]] != [wanted]:
        fail(f"cycles are {seen['cycles']}, the truth is {sorted(wanted)}")
    threads = by_os_id(seen)
    for true in truth["threads"]:
        thread = threads[true["osId"]]
        wait = thread.get("waitingFor") or fail(f"{true['name']} waits for nothing")
        if wait["ownerOsId"] != true["ownerOsId"]:
            fail(f"{true['name']} waits for {wait['ownerOsId']}, in truth for {true['ownerOsId']}")
        if wait["type"] != truth["lockType"]:
            fail(f"{true['name']} waits for a {wait['type']}, in truth for a {truth['lockType']}")
        if (thread["name"], thread["managedId"]) != (true["name"], true["managedId"]):
            fail(f"{thread['name']} ({thread['managedId']}) is {true['name']} ({true['managedId']})")
        if truth["method"] not in map(method_name, thread["frames"]):
            fail(f"{true['name']} has no frame of {truth['method']}")
        next_in_cycle = seen["cycles"][0]
        at = next_in_cycle.index(true["osId"])
        if next_in_cycle[(at + 1) % len(next_in_cycle)] != true["ownerOsId"]:
            fail(f"{true['osId']} does not come before its owner in {next_in_cycle}")


def check_threads(seen, truth):
    threads = by_os_id(seen)
    left, right = truth["frames"]
    for true in truth["threads"]:
        thread = threads.get(true["osId"]) or fail(f"{true['name']} is missing")
        if thread["name"] != true["name"]:
            fail(f"{true['osId']} is {thread['name']}, in truth {true['name']}")
        if not thread["whole"]:
            fail(f"the stack of {true['name']} is not whole: {thread.get('broken')}")
        methods = [method_name(f) for f in thread["frames"] if f["kind"] == "managed"]
        if true["method"] not in methods:
            fail(f"{true['name']} has no frame of {true['method']}: {methods}")
        inner = methods[methods.index(true["method"]) + 1:]
        depth = truth["depth"]
        wanted = [left if (depth - 1 - i) % 2 == 0 else right for i in range(depth)]
        if inner[:depth] != wanted:
            fail(f"{true['name']} is under {inner[:depth]}, in truth under {wanted}")


def check_native(seen, truth):
    """A comparison in qsort in SortOnce, each called by the next."""
    thread = by_os_id(seen)[json_of(truth["thread_osId"])]
    methods = [method_name(frame) for frame in thread["frames"]]
    wanted = [name for name in truth["frames"]]
    places = [next((i for i, m in enumerate(methods) if m.startswith(name)), None) for name in wanted]
    if None in places or places != sorted(places):
        fail(f"{wanted} are at {places} in {methods}")
    if not thread["whole"]:
        fail(f"the stack is not whole: {thread.get('broken')}")


def check_same(seen, other):
    """The managed frames of every blocked thread, by two ways."""
    threads = by_os_id(seen)
    compared = 0
    for theirs in other["threads"]:
        if not theirs["name"].startswith("blocked-"):
            continue
        ours = threads[theirs["osId"]]
        if managed(ours) != managed(theirs):
            fail(f"{ours['name']}: {managed(ours)} and {managed(theirs)}")
        compared += 1
    if compared < 40:
        fail(f"only {compared} threads could be compared")


def managed(thread):
    return [frame["method"] for frame in thread["frames"] if frame["kind"] in ("managed", "framework")]


def check_dac(seen, ask, pid):
    """The managed frames of every thread of the program, by our walk and by the runtime's own library."""
    threads = [t for t in seen["threads"] if any(f["kind"] == "managed" for f in t["frames"])]
    questions = "".join(f"frames {thread['osId']}\n" for thread in threads)
    answers = subprocess.run([ask, pid, "dac"], input=questions, capture_output=True, text=True, check=True)
    for thread, answer in zip(threads, answers.stdout.splitlines(), strict=True):
        theirs = [frame["method"] for frame in json.loads(answer) if frame["method"]]
        # Before .NET 10 the library puts first what has no code of its own: a method inside of the runtime.
        if managed(thread) not in (theirs, theirs[1:]):
            fail(f"{thread['name']}: {managed(thread)} and {theirs}")
    if len(threads) < 40:
        fail(f"only {len(threads)} threads could be compared")


def json_of(value):
    return json.loads(value) if isinstance(value, str) else value


def main():
    kind, file, name, *rest = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        seen = json.load(text)
    if kind == "same":
        with open(name, encoding="utf-8") as text:
            return check_same(seen, json.load(text))
    if kind == "dac":
        return check_dac(seen, name, *rest)
    truth = truth_of(name)
    return {"cycle": check_cycle, "threads": check_threads, "native": check_native}[kind](seen, truth)


if __name__ == "__main__":
    main()
