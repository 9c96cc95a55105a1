#!/usr/bin/env python3
"""compare_readers.py BIN PID TRUTH: the contract reader beside the DAC, and both beside what the program says of itself.

The program is stopped meanwhile, so that both see the same; threads that it ran at that moment have no registers, and no frames.
Threads, locks, the types of what threads have on their stacks, managed frames. Prints one JSON object with the numbers of what was
compared and what differed; `examples` shows the first."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

binaries, pid, truth = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
MOST_OBJECTS = 400


class Reader:
    def __init__(self, kind):
        self.process = subprocess.Popen([f"{binaries}/ask_runtime", pid, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


different, examples = {}, []


def differ(what, contract, dac, about=None):
    if contract == dac:
        return
    different[what] = different.get(what, 0) + 1
    examples.append({"what": what, "about": about, "contract": contract, "dac": dac})


def stack_words(top_of):
    """Words of every thread's stack that may be addresses of objects."""
    found = set()
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for sp in top_of:
            try:
                memory.seek(sp)
                data = memory.read(16384)
            except OSError:
                continue
            found.update(word for (word,) in struct.iter_unpack("<Q", data[:len(data) // 8 * 8]) if word % 8 == 0 and 1 << 20 < word < 1 << 47)
    return found


def stands(task):
    try:
        return task.joinpath("stat").read_text().rpartition(")")[2].split()[0] in "TZ"
    except OSError:  # has ended
        return True


def stop_all(patience=60):
    """SIGSTOP, until it has reached every thread."""
    os.kill(int(pid), signal.SIGSTOP)
    end = time.monotonic() + patience
    while not all(map(stands, pathlib.Path(f"/proc/{pid}/task").iterdir())):
        if time.monotonic() > end:
            sys.exit(f"process {pid} does not stop")
        time.sleep(0.01)


def waits_in_kernel(thread):
    """It had gone into a system call: what it was doing before is on its stack."""
    try:
        return not open(f"/proc/{pid}/task/{thread}/syscall").read().startswith(("-1", "running"))
    except OSError:
        return False


stop_all()
contract, dac = Reader("contract"), Reader("dac")
threads, dac_threads = ({t["osId"] or t["address"]: t for t in reader.ask("threads")} for reader in (contract, dac))
differ("threads", sorted(threads), sorted(dac_threads))
for key in sorted(set(threads) & set(dac_threads)):
    fields = ["managedId", "name", "background", "pool", "dead", "exception", "object", "address"]
    if not threads[key]["osId"] and not dac_threads[key]["pool"]:
        fields.remove("pool")  # not started yet: its managed object says so already, the runtime's own flag, which the DAC reads, comes later
    for field in fields:
        differ(f"thread.{field}", threads[key][field], dac_threads[key][field], key)

locks, dac_locks = ({x["object"]: x for x in reader.ask("locks") if x["held"] or x["waiters"]} for reader in (contract, dac))
differ("locks", locks, dac_locks)

sps = []
for key in threads:
    try:
        sps.append(int(open(f"/proc/{pid}/task/{key}/syscall").read().split()[-2], 16))
    except (OSError, ValueError, IndexError):
        pass
objects = {x for x in [*locks, *(t["object"] for t in threads.values())] if x}
types = {}
for word in sorted(stack_words(sps)):
    if len(types) >= MOST_OBJECTS:
        break
    if "name" in (answer := contract.ask(f"object {word:#x}")) and answer["name"] not in types:
        types[answer["name"]] = (word, answer)
for word in sorted(objects):
    types.setdefault((answer := contract.ask(f"object {word:#x}"))["name"], (word, answer))
for name, (word, answer) in types.items():
    said = dac.ask(f"object {word:#x}")
    for field in ("name", "baseSize", "componentSize", "fields", "base"):
        differ(f"type.{field}", answer.get(field), said.get(field), name)

frames = same_stacks = 0
for key in filter(waits_in_kernel, threads):
    ours, theirs = contract.ask(f"frames {key}"), dac.ask(f"frames {key}")
    if isinstance(ours, dict) or isinstance(theirs, dict):
        continue
    ours, theirs = ([f["method"] for f in x if f["method"]] for x in (ours, theirs))
    # Without registers ours begin where managed code called out; what lies above is the same.
    if ours and ours == theirs[-len(ours):]:
        same_stacks += 1
        frames += len(ours)
    elif ours or theirs:
        differ("frames", ours, theirs, key)

for said in truth["threads"] if isinstance(truth.get("threads"), list) else []:
    ours = threads.get(said["osId"], {})
    differ("truth.name", ours.get("name"), said.get("name"), said["osId"])
    if "managedId" in said:
        differ("truth.managedId", ours.get("managedId"), said["managedId"], said["osId"])
    if "ownerOsId" in said and truth.get("lockType") == "Samples.Symptoms.Account":
        differ("truth.owner", said["ownerOsId"] in {x["ownerOsId"] for x in locks.values()}, True, said["osId"])
codes = [contract.close(), dac.close()]
os.kill(int(pid), signal.SIGCONT)
print(json.dumps({"threads": len(threads), "locks": len(locks), "types": len(types), "fields": sum(len(a["fields"]) for _, a in types.values()),
                  "stacks": same_stacks, "frames": frames, "exitCodes": codes, "different": sum(different.values()), "kinds": different,
                  "examples": examples[:20]}, indent=1))
