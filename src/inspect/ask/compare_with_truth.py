#!/usr/bin/env python3
"""compare_with_truth.py BIN PROGRAM ARGUMENTS…: starts a program that prints what is so of its threads, and sets what the reader says of
threads, locks and stacks beside it. Prints one JSON object; `different` is what is not so."""
import json
import subprocess
import sys
import time

binaries, command = sys.argv[1], sys.argv[2:]
program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ask(pid, questions):
    asked = subprocess.run([f"{binaries}/ask_runtime", str(pid)], input="\n".join(questions) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in asked.stdout.splitlines()]


def compare(ready):
    truth = ready["truth"]
    threads, locks = ask(ready["pid"], ["threads", "locks"])
    locks = [lock for lock in locks if lock["held"]]
    by_name = {thread["name"]: thread for thread in threads}
    different, named = [], 0
    for said in truth["threads"]:
        ours = by_name.get(said["name"], {})
        for key in ("osId", "managedId", "exception"):
            if key in said and ours.get(key) != said[key]:
                different.append({"thread": said["name"], "said": said[key], "ours": ours.get(key)})
        if "holds" in said and not any(lock["ownerOsId"] == said["osId"] and lock["waiters"] == 1 for lock in locks):
            different.append({"thread": said["name"], "locks": locks})
        stack = ask(ready["pid"], [f"frames {ours.get('osId', 0)}"])[0]
        methods = [frame["method"] for frame in stack] if isinstance(stack, list) else [str(stack)]
        named += sum(bool(method) for method in methods)
        wanted = said.get("method", truth.get("method"))
        if not any(method == wanted or method.startswith(wanted + "(") for method in methods):
            different.append({"thread": said["name"], "said": wanted, "frames": methods})
    return {"locks": len(locks), "named": named, "dead": sum(t["dead"] for t in threads), "unstarted": sum(t["unstarted"] for t in threads),
            "different": different}


try:
    first = json.loads(program.stdout.readline())
    deadline = time.monotonic() + 60
    while (result := compare(first))["different"] and time.monotonic() < deadline:
        time.sleep(0.2)  # the last of them may not have come to its wait
    print(json.dumps(result, indent=1))
finally:
    program.kill()
    program.wait()
