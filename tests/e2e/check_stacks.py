#!/usr/bin/env python3
"""Runs a command that prints what `clrscope stacks --json` saw, compares it with the truth and prints it again.

check_stacks.py KIND TRUTH COMMAND…

KIND cycle, threads, native, mini, osr: TRUTH is what a sample says of itself, as JSON, or @FILE: the file of its ready line.
KIND same, dac: TRUTH is a command, which prints what it saw, or answers questions (ask_runtime PID dac). dac:N compares N threads at least.
Exits 1 with the first difference; 2 when the moment was the wrong one (native: it did not sort just then).
"""
import json
import shlex
import subprocess
import sys


def fail(text):
    sys.exit(f"check_stacks: {text}")


def by_os_id(seen):
    return {thread["osId"]: thread for thread in seen["threads"]}


def method_name(frame):
    """Without arguments, as truths have it."""
    return frame["method"].split("(")[0]


def truth_of(text):
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            return json.loads(file.readline())["truth"]
    return json.loads(text)


def run(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


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
    thread = by_os_id(seen)[truth["thread"]["osId"]]
    methods = [method_name(frame) for frame in thread["frames"]]
    wanted = truth["frames"]
    if not any(m.startswith(wanted[0]) for m in methods):
        sys.exit(2)
    places = [next((i for i, m in enumerate(methods) if m.startswith(name)), None) for name in wanted]
    if None in places or places != sorted(places):
        fail(f"{wanted} are at {places} in {methods}")
    if not thread["whole"]:
        fail(f"the stack is not whole: {thread.get('broken')}")


def check_mini(seen, truth):
    """A core without a heap: whole stacks, and the cycle, or that locks could not be read."""
    threads = by_os_id(seen)
    for true in truth["threads"]:
        if truth["method"] not in map(method_name, threads[true["osId"]]["frames"]):
            fail(f"{true['name']} has no frame of {truth['method']}")
    cycles = [set(cycle) for cycle in seen["cycles"]]
    if cycles not in ([], [set(truth["cycle"])]):
        fail(f"cycles are {seen['cycles']}, the truth is {truth['cycle']}")
    if not cycles and not seen["locksUnread"] and not any("lock" in note for note in seen["notes"]):
        fail(f"neither a cycle, nor a word about locks that could not be read: {seen['notes']}")


def check_same(seen, other):
    """The managed frames of every blocked thread, by two ways."""
    other = run(shlex.split(other))
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


def check_osr(seen, truth):
    """A method that was replaced on the stack is there once, under its caller."""
    threads = by_os_id(seen)
    for true in truth["loops"]:
        methods = [method_name(frame) for frame in threads[true["thread"]["osId"]]["frames"]]
        places = [i for i, method in enumerate(methods) if method == true["method"]]
        if len(places) != 1 or methods[places[0] + 1] != true["caller"]:
            fail(f"{true['method']} is not once and under {true['caller']}: {methods}")


def check_dac(seen, ask, least):
    """The managed frames of every thread of the program, by our walk and by the runtime's own library."""
    threads = [t for t in seen["threads"] if any(f["kind"] == "managed" for f in t["frames"])]
    questions = "".join(f"frames {thread['osId']}\n" for thread in threads)
    answers = subprocess.run(shlex.split(ask), input=questions, capture_output=True, text=True, check=True)
    for thread, answer in zip(threads, answers.stdout.splitlines(), strict=True):
        theirs = [frame["method"] for frame in json.loads(answer) if frame["method"]]
        # Before .NET 10 the library puts first what has no code of its own: a method inside of the runtime.
        if managed(thread) not in (theirs, theirs[1:]):
            fail(f"{thread['name']}: {managed(thread)} and {theirs}")
    if len(threads) < least:
        fail(f"only {len(threads)} threads could be compared")


CHECKS = {"cycle": check_cycle, "threads": check_threads, "native": check_native, "mini": check_mini, "same": check_same, "osr": check_osr}


def main():
    kind, truth, *command = sys.argv[1:]
    seen = run(command)
    if kind.startswith("dac"):
        check_dac(seen, truth, int(kind[4:] or 40))
    else:
        CHECKS[kind](seen, truth if kind == "same" else truth_of(truth))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
