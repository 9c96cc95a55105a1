#!/usr/bin/env python3
"""Sends more and more requests to the sample `shop` and looks at the share that `clrscope requests` samples by itself.

    check_request_share.py PID ADDRESS

Each request makes 2,000 spans if it is sampled. While that fits into the budget (1 % of the CPU time of the process, at least 2 ms per second) every request is
sampled; beyond, the share must fall so far that the cost of samples stays what it was. What it costs to hear of requests at all depends on their number alone and
is not compared.
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
SECONDS = 4
THREADS = 4
PATH = "/calls/2000?rounds=1"


def send(address, per_second):
    """For some seconds; 0: as many as go."""
    end = time.monotonic() + SECONDS

    def one_client():
        client = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=60)
        due = time.monotonic()
        while time.monotonic() < end:
            client.request("GET", PATH)
            client.getresponse().read()
            due += THREADS / per_second if per_second else 0
            time.sleep(max(0, due - time.monotonic()))
        client.close()

    clients = [threading.Thread(target=one_client) for _ in range(THREADS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def profile(pid, address, per_second):
    started = subprocess.Popen([CLRSCOPE, "requests", "-p", pid, "--include", "Samples.Shop.Calls", "--method-budget", "0", "--duration", "100s", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = started.stderr.readline()
    assert "Profiling requests" in line, line + started.stderr.read()
    send(address, per_second)
    started.send_signal(signal.SIGINT)
    out, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    return json.loads(out)


def main():
    pid, address = sys.argv[1:]
    wrong, shares, rates = [], [], []
    for per_second in (2, 40, 0):
        seen = profile(pid, address, per_second)
        seconds, cost = seen["durationMs"] / 1000, seen["cost"]
        share = seen["sampled"] / seen["seen"]
        shares.append(share)
        rates.append(seen["seen"] / seconds)
        # The first samples are taken before anybody knows what they cost: 100 of them, at most.
        most = 1.5 * max(2 * seconds, 0.01 * cost["processMs"]) + 20
        samples = cost["hooksMs"] - cost["hearingMs"]
        print(f"{seen['seen'] / seconds:.0f} requests per second: {seen['sampled']} of {seen['seen']} sampled ({100 * share:.1f} %), "
              f"{samples:.1f} ms of at most {most:.1f} ms, {cost['hearingMs']:.1f} ms for all requests, probability {seen['probability']:.3f}")
        if samples > most:
            wrong.append("the samples cost more than the budget")
    if shares[0] < 0.9:
        wrong.append("not every request was sampled under a low load")
    falls = shares[0] >= shares[1] and shares[2] < 0.8 * shares[0]
    if rates[2] < 4 * rates[1]:
        print(f"the last load was not much higher than the one before it ({rates[2]:.0f} and {rates[1]:.0f} per second): a busy machine")
    else:
        falls = falls and shares[1] > shares[2]
    if not falls:
        wrong.append(f"the share does not fall: {shares}")
    for line in wrong:
        print(line)
    print(f"{len(shares)} loads, {len(wrong)} wrong")


main()
