#!/usr/bin/env python3
"""Requests in = stored + counted lost, and none stored twice, while the server and the relay are killed by kill -9.

    check_kill.py FOLDER [ROUNDS]

The source writes to a pipe that outlives the relay, as clrscope's does. Every round a batch is written, and now and then the
server, the relay or both are killed at any moment and started again.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

from fleet_kit import Server, check, relay, source, until

REQUESTS, SPANS = 50, 6


def main():
    folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
    random.seed(22)
    server = Server(folder)
    to = f"grpc://{server.listen}"
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # neither end breaks while one of the others is away

    def start_relay():
        end = os.open(pipe, os.O_RDONLY)
        made = relay(to, "--spool", str(folder / "spool"), "--linger", "60s", stdin=end, stderr=subprocess.DEVNULL)
        os.close(end)
        return made

    sender = start_relay()
    end = os.open(pipe, os.O_WRONLY)
    writer = source("web-1", "shop", rounds + 1, REQUESTS, SPANS, "wait", stdin=subprocess.PIPE, stdout=end)
    os.close(end)
    kills = {"server": 0, "relay": 0}
    for _ in range(rounds):
        print(file=writer.stdin, flush=True)
        chance = random.random()
        if chance < 0.15:
            server.kill()
            kills["server"] += 1
            server.start()
        elif chance < 0.3:
            sender.send_signal(signal.SIGKILL)
            sender.wait()
            kills["relay"] += 1
            sender = start_relay()
        elif chance < 0.6:  # let some of it arrive
            until(lambda: (server.host() or {}).get("storedRequests", 0) > 0, "something is stored")
    check(min(kills.values()) >= 3, f"both were killed: {kills}")

    # Calm: one more batch, which says what was written in all.
    print(file=writer.stdin, flush=True)
    _, told = writer.communicate(timeout=60)
    written = json.loads(told)
    check("broken" not in written and written["requests"] == (rounds + 1) * REQUESTS, f"the source wrote all: {written}")
    until(lambda: (server.host() or {}).get("writtenRequests") == written["requests"], f"the last batch arrives: {server.host()}")
    os.close(held)
    said, _ = sender.communicate(timeout=120)
    check(sender.returncode in (0, 2) and json.loads(said)["waitingBytes"] == 0, f"the relay delivers all that waits: {said}")

    host = server.host()
    check(host["storedRequests"] + host["lostRequests"] == written["requests"], f"in = stored + lost: {host}")
    check(host["storedSpans"] + host["lostSpans"] == written["spans"], f"spans in = stored + lost: {host}")
    # At most what one relay had read and not yet written down: a batch, and a part of one, per kill.
    check(host["lostRequests"] <= 2 * REQUESTS * kills["relay"], f"little is lost: {host}")
    services = server.get("/fleet/services")["services"]
    check(services[0]["requests"] == host["storedRequests"], f"the chunks hold what the ledger says: {services}")
    found = 0
    for batch in range(rounds + 1):
        answer = server.get(f"/fleet/requests/{batch:016x}{REQUESTS - 1:016x}")
        if answer != 404:
            check(len(answer["requests"]) == 1, f"batch {batch} is stored once, not {len(answer['requests'])} times")
            check(len(answer["requests"][0]["spans"]) == SPANS, "a stored request has its spans")
            found += 1
    check(found * REQUESTS == host["storedRequests"], f"{found} batches hold {host['storedRequests']} requests")
    server.end()
    print(json.dumps({"written": written["requests"], "stored": host["storedRequests"], "lost": host["lostRequests"],
                      "duplicates": host["duplicates"], "kills": kills}))


if __name__ == "__main__":
    main()
