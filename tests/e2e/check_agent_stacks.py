#!/usr/bin/env python3
"""Compares the stacks that the agent takes inside a process with those that clrscope reads from outside.

    check_agent_stacks.py TRUTH CLRSCOPE PID

TRUTH is that of the sample `threads`: each of its threads must be there, with its own method and the depth of its calls.
"""
import json
import re
import subprocess
import sys

truth, clrscope, pid = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]


def ask(*words):
    return json.loads(subprocess.run([clrscope, *words, "-p", pid, "--json"], check=True, capture_output=True, text=True).stdout)


def plain(method):
    return re.sub(r"\(.*", "", method)


inside = {t["osId"]: t["frames"] for t in ask("agent", "stacks")["threads"]}
outside = {t["osId"]: [plain(f["method"]) for f in t["frames"] if f["kind"] in ("managed", "framework")] for t in ask("stacks")["threads"]}
wrong = []
for thread in truth["threads"]:
    frames = inside.get(thread["osId"])
    if frames is None:
        wrong.append(f"thread {thread['osId']} is missing")
        continue
    if thread["method"] not in frames:
        wrong.append(f"thread {thread['osId']}: {thread['method']} is not in {frames}")
    calls = sum(frames.count(name) for name in truth["frames"])
    if calls < truth["depth"]:
        wrong.append(f"thread {thread['osId']}: {calls} calls of {truth['depth']}")
    if frames != outside.get(thread["osId"]):  # framework code of the runtime included
        wrong.append(f"thread {thread['osId']}:\n  inside  {frames}\n  outside {outside.get(thread['osId'])}")
for complaint in wrong[:5]:
    print(complaint)
print(f"{len(truth['threads'])} threads compared, {len(wrong)} differ")
sys.exit(1 if wrong else 0)
