#!/usr/bin/env python3
"""compare_with_truth.py BIN PROGRAM ARGUMENTS…: starts a lock cycle of the samples, and sets what the reader says of threads, locks and
stacks beside what the program says of itself. Prints one JSON object; `different` is what is not so."""
import json
import subprocess
import sys

binaries, command = sys.argv[1], sys.argv[2:]
program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    ready = json.loads(program.stdout.readline())
    truth = ready["truth"]
    questions = ["threads", "locks"] + [f"frames {one['osId']}" for one in truth["threads"]]
    asked = subprocess.run([f"{binaries}/ask_runtime", str(ready["pid"])], input="\n".join(questions) + "\n",
                           capture_output=True, text=True, check=True)
    threads, locks, *stacks = (json.loads(line) for line in asked.stdout.splitlines())
    different, named = [], 0
    locks = [lock for lock in locks if lock["held"]]
    for said, stack in zip(truth["threads"], stacks):
        ours = next((one for one in threads if one["osId"] == said["osId"]), {})
        if (ours.get("name"), ours.get("managedId")) != (said["name"], said["managedId"]):
            different.append({"said": said, "ours": ours})
        if not any(lock["ownerOsId"] == said["osId"] and lock["waiters"] == 1 for lock in locks):
            different.append({"said": said, "locks": locks})
        methods = [frame["method"] for frame in stack]
        named += sum(bool(method) for method in methods)
        if not any(method.startswith(truth["method"] + "(") for method in methods):
            different.append({"said": truth["method"], "frames": methods})
    print(json.dumps({"locks": len(locks), "named": named, "different": different}, indent=1))
finally:
    program.terminate()
    program.wait()
