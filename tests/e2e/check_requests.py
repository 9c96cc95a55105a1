#!/usr/bin/env python3
"""Whether the requests in flight of the sample web are those that were sent: check_requests.py PID ADDRESS FOLDER"""
import http.client
import json
import os
import random
import subprocess
import sys
import time
import urllib.parse

LOOP = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests"
ORDER = ["Samples.Symptoms.Web.ReserveStock", "Samples.Symptoms.Web.PlaceOrder", "Samples.Symptoms.Web.Run (lambda)"]


def look(*target):
    begin = time.monotonic()
    done = subprocess.run(["clrscope", "stacks", *target, "--requests", "--json"], check=True, stdout=subprocess.PIPE)
    return {"begin": begin, "end": time.monotonic(), **json.loads(done.stdout)}


def look_until(pid, is_wanted):
    """Each look; the case's time limit ends it."""
    looks = []
    while not looks or not is_wanted(looks[-1]):
        looks.append(look("-p", pid))
    return looks


def is_waiting(one):
    """It has come to the place where it waits for the gate."""
    if one["method"] == "GET":
        return one["wait"] is not None and one["wait"]["kind"] == "TaskCompletionSource"
    return any(".WriteInvoice(" in frame["method"] for frame in one.get("threadFrames", []))


def trace_of(path):
    return f"{path.encode().hex():0>32}"[-32:]


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(urllib.parse.urlparse(address).netloc)

    def send(self, method, path):
        self.path, self.method, self.sent = path, method, time.monotonic()
        self.connection.request(method, path, headers={"traceparent": f"00-{trace_of(path)}-00f067aa0ba902b7-01"})

    def answer(self):
        response = self.connection.getresponse()
        return response.status, response.read().decode()


def check_one(one, client):
    where = f"{one['method']} {one['path']}"
    frames = [frame["method"] for frame in one["frames"]]
    wrong = []
    if one["traceId"] != trace_of(client.path):
        wrong.append(f"trace id {one['traceId']}")
    if one["method"] != client.method:
        wrong.append("method")
    if one["requestId"] != one["connectionId"] + ":00000002":  # each connection served one before
        wrong.append(f"request id {one['requestId']}")
    if one["protocol"] != "HTTP/1.1":
        wrong.append(one["protocol"])
    if not frames or frames[-1] != LOOP:
        wrong.append(f"frames {frames}")
    if client.method == "GET":
        if (one["route"], one["endpoint"]) != ("/orders/{id}", "place an order"):
            wrong.append(f"route {one['route']}, endpoint {one['endpoint']}")
        if frames[:3] != ORDER or one["wait"]["kind"] != "TaskCompletionSource":
            wrong.append(f"frames {frames}, waits for {one['wait']}")
    else:
        on_thread = [frame["method"] for frame in one.get("threadFrames", [])]
        if not any(method.startswith("Samples.Symptoms.Web.WriteInvoice(") for method in on_thread):
            wrong.append(f"frames of the thread {on_thread}")
        if not one.get("threadOsId"):
            wrong.append("no thread")
    return [f"{where}: {text}" for text in wrong]


def check_ages(last, looks, clients):
    for one in last["requests"]:
        client = clients[one["path"]]
        first = next(seen for seen in looks if any(other["path"] == one["path"] for other in seen["requests"]))
        least, most = (last["begin"] - first["end"]) * 1000, (last["end"] - client.sent) * 1000
        if one["ageMs"] is None or not least <= one["ageMs"] <= most:
            yield f"{one['path']}: age {one['ageMs']} is not between {least} and {most}"
        if one["ageSource"] == "unknown" or not one["startTime"]:
            yield f"{one['path']}: no start"
    ages = [one["ageMs"] for one in last["requests"]]
    if ages != sorted(ages, reverse=True):
        yield f"not the oldest first: {ages}"


def check_damaged(core):
    """A core with wrong bytes is read as far as it goes, or refused."""
    size = os.path.getsize(core)
    for seed in range(5):
        numbers = random.Random(seed)
        with open(core, "r+b") as file:
            for _ in range(5000):
                file.seek(numbers.randrange(4096, size))
                file.write(numbers.randbytes(numbers.choice((1, 4, 8))))
        done = subprocess.run(["clrscope", "stacks", core, "--requests", "--json"], check=False, capture_output=True, timeout=60)
        if done.returncode not in (0, 1, 2, 4) or (done.returncode == 0) != bool(done.stdout):
            yield f"damaged core, seed {seed}: exit code {done.returncode}: {done.stderr[-500:]}"


def main(pid, address, folder):
    wrong = []
    # Many requests end: none of their contexts counts, those of open connections included.
    clients = {f"/orders/{i}": Client(address) for i in range(1, 8)}
    clients |= {f"/orders/{i}/invoice": Client(address) for i in range(8, 10)}
    for client in clients.values():
        client.send("GET", "/plaintext")
        client.answer()
    for _ in range(50):
        short = Client(address)
        short.send("GET", "/json")
        short.answer()
        short.connection.close()
    idle = look_until(pid, lambda seen: seen["inFlight"] == 0)[-1]
    if idle["contexts"] < len(clients) or idle["requests"] or idle["notes"]:
        wrong.append(f"idle: {idle}")

    for path, client in clients.items():
        client.send("POST" if path.endswith("invoice") else "GET", path)
    looks = look_until(pid, lambda seen: seen["inFlight"] >= len(clients) and all(map(is_waiting, seen["requests"])))
    last = look("-p", pid)
    if sorted(one["path"] for one in last["requests"]) != sorted(clients):
        wrong.append(f"paths {[one['path'] for one in last['requests']]}")
    else:
        for one in last["requests"]:
            wrong += check_one(one, clients[one["path"]])
        wrong += check_ages(last, looks, clients)

    core = f"{folder}/requests.core"
    subprocess.run(["clrscope", "dump", "-p", pid, "--type", "heap", "-o", core], check=True, stdout=subprocess.DEVNULL)
    dumped = look(core)
    facts = ("method", "path", "traceId", "requestId", "route", "frames")
    if sorted(str([one[name] for name in facts]) for one in dumped["requests"]) != sorted(str([one[name] for name in facts]) for one in last["requests"]):
        wrong.append(f"core: {dumped}")
    for one in dumped["requests"]:
        if one["ageMs"] is None or one["ageMs"] > (time.monotonic() - clients[one["path"]].sent) * 1000:
            wrong.append(f"core: age {one['ageMs']} of {one['path']}")
    if last["runtime"].startswith("10."):  # older ones are read by the runtime's own library
        wrong += check_damaged(core)

    opener = Client(address)
    opener.send("GET", "/open")
    opener.answer()
    for path, client in clients.items():
        if (status := client.answer()[0]) != 200:
            wrong.append(f"{path} was answered with {status}")
    look_until(pid, lambda seen: seen["inFlight"] == 0 and seen["contexts"] >= len(clients))
    # The client leaves; the app does not look, and its request goes on.
    opener.send("GET", "/slow?ms=600000")
    look_until(pid, lambda seen: [one["path"] for one in seen["requests"]] == ["/slow"] and (seen["requests"][0]["wait"] or {}).get("kind") == "Task.Delay")
    opener.connection.close()
    for text in wrong:
        print(text)
    print(f"{len(last['requests'])} requests seen in the process and in its core")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
