#!/usr/bin/env python3
"""Lets the doctor examine a web application that asks a real PostgreSQL with Entity Framework: doctor_database.py CLRSCOPE SHOP

The server is this script's own, in a temporary folder; SHOP is the program of bench/shop. Prints {"loop": REPORT, "join": REPORT}: what
the doctor says while requests load the orders one by one, and while they load them with one command.
"""
import json
import pathlib
import subprocess
import sys
import threading
import urllib.request

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench/lib"))
import postgres  # noqa: E402

clrscope, shop = sys.argv[1:3]
server = postgres.Postgres()
app = None


def examine(pid, address):
    done = threading.Event()

    def load():
        while not done.wait(0.02):
            with urllib.request.urlopen(address) as answer:
                answer.read()

    client = threading.Thread(target=load)
    client.start()
    try:
        return json.loads(subprocess.run([clrscope, "doctor", "-p", str(pid), "--duration", "4s", "--only", "CS1704", "--json"],
                                         stdout=subprocess.PIPE, text=True, check=True).stdout)
    finally:
        done.set()
        client.join()


try:
    app = subprocess.Popen([shop, server.connection], stdout=subprocess.PIPE, text=True)
    ready = json.loads(app.stdout.readline())
    address = ready["truth"]["address"]
    print(json.dumps({"loop": examine(ready["pid"], address + "/orders-one-by-one"), "join": examine(ready["pid"], address + "/orders")}))
finally:
    if app is not None:
        app.kill()
        app.wait()
    server.stop()
