#!/usr/bin/env python3
"""Records what Entity Framework tells while a web application asks a real PostgreSQL: record_database.py CLRSCOPE TRACE PROFILED SHOP

TRACE gets all events of Entity Framework, PROFILED what --profile database records. The server is this script's own, in a temporary
folder; SHOP is the program of bench/shop. Prints one JSON object: the requests, each of them one command, of each recording.
"""
import json
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench/lib"))
import postgres  # noqa: E402

REQUESTS = 10
LISTENERS = "Microsoft.EntityFrameworkCore\n[AS]*"
clrscope, trace, profiled, shop = sys.argv[1:5]
server = postgres.Postgres()
started = []


def record(file, address, pid, *options):
    """Returns the exit code."""
    recorder = subprocess.Popen([clrscope, "collect", "-p", str(pid), "-o", file, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    started.append(recorder)
    while not recorder.stderr.readline().startswith("Recording"):
        if recorder.poll() is not None:
            sys.exit(f"collect ended with {recorder.returncode}")
    time.sleep(1.5)  # Entity Framework remembers for a second that nobody listens
    for customer in range(REQUESTS):
        with urllib.request.urlopen(f"{address}/orders?customer={customer}") as answer:
            answer.read()
    recorder.send_signal(signal.SIGTERM)
    recorder.communicate(timeout=60)
    return recorder.returncode


try:
    app = subprocess.Popen([shop, server.connection], stdout=subprocess.PIPE, text=True)
    started.append(app)
    ready = json.loads(app.stdout.readline())
    place = ready["truth"]["address"], ready["pid"]
    exits = [record(trace, *place, "--rundown", "false", "--providers", f'Microsoft-Diagnostics-DiagnosticSource:0x3:5:FilterAndPayloadSpecs="{LISTENERS}"'),
             record(profiled, *place, "--profile", "database")]
    print(json.dumps({"requests": REQUESTS, "exits": exits}))
finally:
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
    server.stop()
