#!/usr/bin/env python3
"""Attaches and detaches the agent again and again, each time with all sources on and snapshots of all stacks.

    agent_endure.py CLRSCOPE PID FOLDER ROUNDS SNAPSHOTS

FOLDER is the temporary folder of the process, SNAPSHOTS are those of one round. Every second round reads nothing of the
rings and ends without a farewell. Prints what was done and what has grown since the first tenth of the rounds, as JSON:
the lowest of up to ten rounds each.
"""
import json
import pathlib
import subprocess
import sys
import time

from agent_client import ALL_SOURCES, DONE, OPEN, SNAPSHOT, SWITCH, Agent

clrscope, pid, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
rounds, snapshots = int(sys.argv[4]), int(sys.argv[5])
done = {"rounds": 0, "snapshots": 0, "refused": []}


def clr(*words):
    ran = subprocess.run([clrscope, *words, "-p", pid, "--json"], capture_output=True, text=True)
    if ran.returncode != 0:
        done["refused"].append(f"{words[0]}: {ran.stderr.strip()}")
    return json.loads(ran.stdout) if ran.returncode == 0 else {}


def one_round(number):
    if not clr("attach").get("loaded"):
        return
    (path,) = folder.glob(f"clrscope-agent-{pid}-*/control")
    with Agent(path) as agent:

        def ask(kind, value=0):
            outcome, hresult = agent.ask(kind, value)
            if outcome != DONE:
                done["refused"].append(f"request {kind}: {outcome} {hresult:#x}")
            return outcome == DONE

        if ask(OPEN) and ask(SWITCH, ALL_SOURCES):
            for _ in range(snapshots):
                done["snapshots"] += ask(SNAPSHOT)
            if number % 2 == 0:
                ask(SWITCH, 0)
    if clr("detach").get("wasLoaded"):
        done["rounds"] += 1


def size_now():
    process = pathlib.Path("/proc", pid)
    (rss,) = (int(line.split()[1]) for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS:"))
    return rss, len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))


def size():
    """The lowest of 20 values, because the process itself goes up and down."""
    values = []
    for _ in range(20):
        values.append(size_now())
        time.sleep(0.02)
    return [min(one) for one in zip(*values)]


sizes = []
for i in range(rounds):
    one_round(i)
    sizes.append(size())
    if len(done["refused"]) > 20:
        break
window = min(10, len(sizes) // 2)
warm = max(len(sizes) // 10, window)
first = [min(values) for values in zip(*sizes[warm - window:warm])]
last = [min(values) for values in zip(*sizes[-window:])]
done.update(zip(("grownKiB", "fds", "threads"), (b - a for a, b in zip(first, last))))
print(json.dumps(done))
