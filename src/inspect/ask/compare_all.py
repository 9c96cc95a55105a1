#!/usr/bin/env python3
"""compare_all.py BIN SAMPLES TARGET all|half: compare_readers.py on the sample programs, each alive in its symptom.

`half` takes every second one of the catalog, the even ones on one target and the odd ones on the other. Prints one JSON object: what was
compared, how much of it, and what differed."""
import json
import os
import pathlib
import signal
import subprocess
import sys

binaries, samples, target, share = sys.argv[1:]
program = pathlib.Path(samples) / target / "samples"
compare = pathlib.Path(__file__).with_name("compare_readers.py")
listed = [line.split()[0] for line in subprocess.run([program, "list"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
chosen = listed if share == "all" else listed[target == "net9.0"::2]
total = {"threads": 0, "locks": 0, "types": 0, "fields": 0, "stacks": 0, "frames": 0}
different = {}
for name in chosen:
    app = subprocess.Popen([program, name], stdout=subprocess.PIPE, text=True)
    try:
        ready = json.loads(app.stdout.readline())
        # The two look one after the other: stopped, so that both see the same memory.
        app.send_signal(signal.SIGSTOP)
        os.waitpid(app.pid, os.WUNTRACED)
        done = subprocess.run([sys.executable, compare, binaries, str(app.pid), json.dumps(ready["truth"])], stdout=subprocess.PIPE, text=True)
        seen = json.loads(done.stdout) if done.returncode == 0 else None
        if not seen:
            different[name] = f"exit code {done.returncode}"
            continue
        for key in total:
            total[key] += seen[key]
        if seen["different"] or any(seen["exitCodes"]):
            different[name] = {"kinds": seen["kinds"], "exitCodes": seen["exitCodes"], "examples": seen["examples"][:3]}
    finally:
        app.send_signal(signal.SIGKILL)
        app.wait()
print(json.dumps({"samples": len(chosen), **total, "different": different}, indent=1))
