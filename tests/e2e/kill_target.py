#!/usr/bin/env python3
"""kill_target.py ROUNDS SAMPLE: kills a process by SIGKILL while `clrscope stacks` looks at it, each time when the look has come further.

Either the look was through, or it must end with an error that says that the process is gone. Prints one JSON object; exits 1 otherwise."""
import json
import re
import subprocess
import sys

from kill_readers import PATIENCE, fail, faults_in_all, wait_for_progress

GONE = re.compile(r"ended|does not exist")


def start(sample):
    app = subprocess.Popen([sample, "threads", "20"], stdout=subprocess.PIPE, text=True)
    app.stdout.readline()
    return app, ["clrscope", "stacks", "-p", str(app.pid)]


def kill_while_looking(sample, progress):
    """The exit code of the look."""
    app, command = start(sample)
    try:
        look = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for_progress(look.pid, progress)
    finally:
        app.kill()
        app.wait()
    error = look.communicate(timeout=PATIENCE)[1]
    if look.returncode not in (0, 1, 2) or (look.returncode and not GONE.search(error)):
        fail(f"after {progress} page faults it ended with {look.returncode}: {error}")
    return look.returncode


def main(rounds, sample):
    app, command = start(sample)
    try:
        whole = faults_in_all(command)
    finally:
        app.kill()
        app.wait()
    codes = [kill_while_looking(sample, whole * i // rounds) for i in range(rounds)]
    print(json.dumps({"rounds": rounds, "codes": codes}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
