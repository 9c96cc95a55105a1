#!/usr/bin/env python3
"""Records what Entity Framework tells while a web application asks a real PostgreSQL: record_database.py CLRSCOPE TRACE SHOP

The server is this script's own, in a temporary folder; SHOP is the program of bench/shop. Prints one JSON object.
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
clrscope, trace, shop = sys.argv[1:4]
server = postgres.Postgres()
started = []
try:
    app = subprocess.Popen([shop, server.connection], stdout=subprocess.PIPE, text=True)
    started.append(app)
    ready = json.loads(app.stdout.readline())
    recorder = subprocess.Popen(
        [clrscope, "collect", "-p", str(ready["pid"]), "--rundown", "false", "-o", trace, "--providers",
         f'Microsoft-Diagnostics-DiagnosticSource:0x3:5:FilterAndPayloadSpecs="{LISTENERS}"'],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    started.append(recorder)
    while not recorder.stderr.readline().startswith("Recording"):
        if recorder.poll() is not None:
            sys.exit(f"collect ended with {recorder.returncode}")
    time.sleep(1.5)  # Entity Framework remembers for a second that nobody listens
    for customer in range(REQUESTS):
        with urllib.request.urlopen(f"{ready['truth']['address']}/orders?customer={customer}") as answer:
            answer.read()
    recorder.send_signal(signal.SIGTERM)
    recorder.communicate(timeout=60)
    print(json.dumps({"requests": REQUESTS, "exit": recorder.returncode}))
finally:
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
    server.stop()
