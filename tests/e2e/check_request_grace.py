#!/usr/bin/env python3
"""Stops profiles of the sample `shop` while requests are in flight: one that ends soon afterwards is told as a whole, a long one does not hold up the end.

    check_request_grace.py PID ADDRESS

On a busy machine the request may end after the grace, so there are several tries; without a grace none succeeds.
"""
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

CLRSCOPE = os.environ.get("CLRSCOPE") or shutil.which("clrscope")
TRIES = 12
SOON = 0.1  # seconds from the stop to the end of the request


class Request(threading.Thread):
    def __init__(self, address, path):
        super().__init__(daemon=True)
        self.address, self.path, self.ended = address, path, None

    def run(self):
        client = http.client.HTTPConnection(urllib.parse.urlsplit(self.address).netloc, timeout=120)
        client.request("GET", self.path)
        client.getresponse().read()
        self.ended = time.monotonic()


def stop_with(pid, address, path, delay):
    """The profile that is stopped so long after a request for that path was sent."""
    started = subprocess.Popen([CLRSCOPE, "requests", "-p", pid, "--include", "Samples.Shop", "--sample", "1", "--duration", "100s", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = started.stderr.readline()
    assert "Profiling requests" in line, line + started.stderr.read()
    request = Request(address, path)
    request.start()
    time.sleep(delay)
    stopped = time.monotonic()
    started.send_signal(signal.SIGINT)
    out, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    return json.loads(out), request, stopped


def check_soon(pid, address):
    for tries in range(1, TRIES + 1):
        profile, request, stopped = stop_with(pid, address, "/reports/soon?ms=400", 0.4 - SOON)
        request.join()
        assert profile["seen"] <= 1, profile
        if request.ended <= stopped or not profile["requests"]:
            continue  # too early or too late
        told = profile["requests"][0]
        assert told["route"] == "/reports/{name}" and told["status"] == 200, told
        methods = [span["method"] for span in told["spans"]]
        assert "Samples.Shop.Reports.WriteAsync" in methods, methods
        assert profile["inFlight"] == 0, profile
        return tries
    raise SystemExit(f"a request that ended {SOON} s after the stop was not told in {TRIES} tries")


def main():
    pid, address = sys.argv[1:]
    tries = check_soon(pid, address)
    profile, request, _ = stop_with(pid, address, "/reports/later?ms=60000", 1)
    assert request.ended is None, "the end of the profile has waited for the request"
    assert profile["seen"] == 1 and profile["inFlight"] == 1 and not profile["requests"], profile
    print(f"told {SOON} s after the stop, try {tries}; one in flight")


main()
