#!/usr/bin/env python3
"""Waves of processes before a running `clrscope forward`; prints how its memory and descriptors grew, as JSON.

    soak.py --program PATH --waves N --processes N

Both are measured between waves, when the forward has nobody to listen to: after the second wave, and after the last.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

EVENTS = 150  # of each process before its wave ends: meters has about 15 a second
MODES = (["meters"], ["flood", "--rate", "500"], ["gc"])


def status():
    return json.loads(subprocess.run(["clrscope", "forward", "--status", "--json"], check=True, capture_output=True, text=True).stdout)


def wait_for(happened, seconds=180):
    end = time.monotonic() + seconds
    while not happened(status()):
        if time.monotonic() > end:
            raise SystemExit(f"soak.py: never came true: {status()}")
        time.sleep(0.2)


def wave(program, processes):
    started = [subprocess.Popen([program, *MODES[i % len(MODES)], "--seconds", "300"], stdout=subprocess.DEVNULL)
               for i in range(processes)]
    try:
        pids = {one.pid for one in started}
        wait_for(lambda now: {p["pid"] for p in now["processes"] if p["events"] >= EVENTS} >= pids)
    finally:
        for one in started:
            one.kill()
            one.wait()
    wait_for(lambda now: not now["processes"])


def measure(pid):
    proc = pathlib.Path("/proc", str(pid))
    resident = next(int(line.split()[1]) * 1024 for line in (proc / "status").read_text().splitlines() if line.startswith("VmRSS"))
    return resident, len(os.listdir(proc / "fd"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--waves", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    options = parser.parse_args()
    pid = status()["pid"]
    before = None
    for number in range(options.waves):
        wave(options.program, options.processes)
        if number == 1:
            before = measure(pid)
    after = measure(pid)
    print(json.dumps({"rssBytes": after[0], "rssGrowthBytes": after[0] - before[0], "fds": after[1], "fdGrowth": after[1] - before[1],
                      "failures": sum(sink["failures"] for sink in status()["sinks"])}))


if __name__ == "__main__":
    main()
