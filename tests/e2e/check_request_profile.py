#!/usr/bin/env python3
"""Profiles the sample `shop` while it sends it known requests, and compares what clrscope tells with them and with its recording.

    check_request_profile.py PID ADDRESS FILE     FILE: where the recording goes
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

CLRSCOPE = os.environ.get("CLRSCOPE") or shutil.which("clrscope")
SHOP = "Samples.Shop."
# Path → status, and the chain of methods that must be in its spans: each called by the one before it.
SENT = {
    "GET /orders/{}": (200, ["Orders.GetAsync", "Orders.LoadAsync", "Database.QueryAsync"]),
    "GET /health": (200, ["Health.Check"]),
    "GET /payments/{}": (500, ["Payments.ChargeAsync"]),
    "GET /reports/{}": (200, ["Reports.WriteAsync"]),
}
EACH = 10


def send(address, what, number):
    method, path = what.split(" ")
    trace = f"{number:032x}"
    request = urllib.request.Request(address + path.format(number), method=method, headers={"traceparent": f"00-{trace}-00000000000000a1-01"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
            return trace, answer.status
    except urllib.error.HTTPError as error:
        return trace, error.code


def profile(pid, address, file):
    """Every request is sent when clrscope says that it listens."""
    started = subprocess.Popen([CLRSCOPE, "requests", "-p", pid, "--include", SHOP + "*", "--sample", "1", "--duration", "100s", "-o", file, "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = started.stderr.readline()
    assert "Profiling requests" in line, line + started.stderr.read()
    sent, number = {}, 0xabc0
    for what, (status, _) in SENT.items():
        for _ in range(EACH):
            number += 1
            trace, code = send(address, what, number)
            assert code == status, f"{what}: {code}"
            sent[trace] = what
    started.send_signal(signal.SIGINT)
    out, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    return sent, json.loads(out)


def check_tree(request, chain, wrong):
    parent = 0
    for name in chain:
        found = [span for span in request["spans"] if span["method"] == SHOP + name and span["parent"] == parent]
        if not found:
            wrong.append(f"{request['path']}: {name} below span {parent} is missing: {[(s['id'], s['parent'], s['method']) for s in request['spans']]}")
            return
        parent = found[0]["id"]
    for span in request["spans"]:
        caller = request["spans"][span["parent"] - 1] if span["parent"] else request
        begin = caller.get("startMs", 0)
        if span["startMs"] < begin - 0.01 or span["durationMs"] < 0:
            wrong.append(f"{request['path']}: {span['method']} begins before its caller")
        if abs(span["durationMs"] - span["runningMs"] - span["waitingMs"]) > 0.01:
            wrong.append(f"{request['path']}: {span['method']}: running and waiting are not its duration: {span}")
        if span["async"] != ("steps" in span):
            wrong.append(f"{request['path']}: {span['method']}: only async methods have steps")


def main():
    pid, address, file = sys.argv[1:]
    wrong = []
    sent, seen = profile(pid, address, file)
    if seen["seen"] < len(sent) or seen["sampled"] != seen["seen"] or any(seen["lost"][one] for one in ("records", "requests", "damaged")):
        wrong.append(f"{len(sent)} sent: {({one: seen[one] for one in ('seen', 'sampled', 'lost')})}")
    routes = {f"{one['method']} {one['route']}": one for one in seen["routes"]}
    for what, (status, _) in SENT.items():
        route = routes.get(what.replace("{}", "{id}")) or routes.get(what.replace("{}", "{name}")) or routes.get(what)
        if not route or route["count"] != EACH or route["errors"] != (EACH if status >= 500 else 0):
            wrong.append(f"{what}: {route}")
    checked = 0
    for request in seen["requests"]:
        what = sent.get(request["traceId"])
        if what is None:
            wrong.append(f"a request that was not sent: {request['traceId']} {request['path']}")
            continue
        checked += 1
        status, chain = SENT[what]
        if request["status"] != status:
            wrong.append(f"{what}: {request['status']}")
        check_tree(request, chain, wrong)
        if abs(request["durationMs"] - request["runningMs"] - request["waitingMs"]) > 0.01 + request["durationMs"] * 0.5:
            wrong.append(f"{what}: running and waiting are far from its duration: {request}")
        if status == 500 and request.get("error") != SHOP + "PaymentRefusedException":
            wrong.append(f"{what}: error {request.get('error')}")
    report = json.loads(subprocess.run([CLRSCOPE, "report", file, "requests", "--json"], capture_output=True, check=True, text=True).stdout)
    for name in ("seen", "sampled", "routes"):
        if report[name] != seen[name]:
            wrong.append(f"the recording has other {name}")
    strip = lambda one: {name: value for name, value in one.items() if name != "startTime"}
    if [strip(one) for one in report["requests"]] != [strip(one) for one in seen["requests"]]:
        wrong.append("the recording has other requests")
    for line in wrong[:20]:
        print(line[:2000])
    print(f"{len(sent)} requests sent, {checked} compared, {len(wrong)} wrong")


main()
