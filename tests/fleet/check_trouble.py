#!/usr/bin/env python3
"""Outages under load, full disks and wrong clocks: requests in = stored + counted lost.

    check_trouble.py FOLDER TEST [SECONDS]

outage: the server is away for SECONDS while a source writes. full_disk, full_spool: FOLDER must be in a mount namespace of its own.
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

from fleet_kit import BIN, Server, check, relay, source, until


def feed(sender, *words, **pipes):
    """A source that writes to the relay: a batch per line on its stdin."""
    writer = source(*words, "wait", stdin=subprocess.PIPE, stdout=sender.stdin, **pipes)
    sender.stdin.close()
    sender.stdin = None
    return writer


def write(writer, batches=1):
    for _ in range(batches):
        print(file=writer.stdin, flush=True)


def finish(writer, sender):
    """What was written, and the relay's account."""
    _, told = writer.communicate(timeout=60)
    said, _ = sender.communicate(timeout=240)
    return json.loads(told), json.loads(said)


def spool_size(folder):
    return sum(one.stat().st_size for one in folder.glob("segment-*"))


def check_sums(server, written):
    host = server.host()
    check(host["writtenRequests"] == written["requests"] and host["writtenSpans"] == written["spans"], f"the server knows of all: {host} {written}")
    check(host["storedRequests"] + host["lostRequests"] == written["requests"], f"in = stored + lost: {host}")
    check(host["storedSpans"] + host["lostSpans"] == written["spans"], f"spans in = stored + lost: {host}")
    check(host["writtenSamples"] == written["samples"] > 0, f"the server knows of all samples: {host} {written}")
    check(host["storedSamples"] + host["lostSamples"] == written["samples"], f"samples in = stored + lost: {host}")
    services = server.get("/fleet/services")["services"]
    check(services[0]["requests"] == host["storedRequests"], f"the chunks hold what is counted: {services}")
    return host


def tmpfs(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    return folder


def fill(folder):
    """Takes all the space; deleting the file gives it back."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        for size in (65536, 4096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
    return ballast


def outage(folder, seconds):
    server = Server(folder)
    sender = relay(f"grpc://{server.listen}", "--spool", str(folder / "spool"), "--linger", "200s", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    batches = 20 + int(seconds * 10)
    writer = feed(sender, "web-1", "shop", batches, 100, 10)
    write(writer, 10)
    until(lambda: (server.host() or {}).get("storedRequests", 0) > 0, "something is stored")
    server.kill()
    for _ in range(batches - 20):  # under load
        write(writer)
        time.sleep(0.1)
    until(lambda: spool_size(folder / "spool") > 0, "batches wait")
    server.start()
    write(writer, 10)
    written, state = finish(writer, sender)
    host = check_sums(server, written)
    check(written["requests"] == 100 * batches and host["lostRequests"] == 0, f"nothing is lost: {host}")
    check(state["waitingBytes"] == 0 and state["delivered"] + state["duplicates"] >= batches, f"all is delivered: {state}")
    server.end()
    return {"requests": written["requests"], "away": seconds}


def full_disk(folder, _):
    """The server's disk is full: relays get an error and keep their batches, queries go on, and all arrives when there is space."""
    disk = tmpfs(folder / "disk", "16m")
    server = Server(disk)
    log = open(folder / "relay.log", "w+")
    sender = relay(f"grpc://{server.listen}", "--spool", str(folder / "spool"), "--linger", "200s", stdin=subprocess.PIPE, stderr=log)
    writer = feed(sender, "web-1", "shop", 60, 100, 20)
    write(writer, 10)
    until(lambda: (server.host() or {}).get("storedRequests") == 1000, "the first are stored")
    ballast = fill(disk)
    write(writer, 40)
    until(lambda: "the disk of the server is full" in (folder / "relay.log").read_text(), "the relay says why")
    until(lambda: spool_size(folder / "spool") > 0, "batches wait")
    before = server.host()
    check(before["storedRequests"] < 5000 and server.get("/fleet/services")["services"], f"queries go on: {before}")
    check(sender.poll() is None and server.process.poll() is None, "both go on")
    ballast.unlink()
    write(writer, 10)
    written, state = finish(writer, sender)
    host = check_sums(server, written)
    check(written["requests"] == 6000 and host["lostRequests"] == 0, f"nothing is lost: {host}")
    check(state["dropped"] == 0 and state["lostRequests"] == 0, f"the relay lost nothing: {state}")
    server.end()
    return {"stored": host["storedRequests"], "whileFull": before["storedRequests"]}


def full_spool(folder, _):
    """The relay's disk is full: what does not fit is counted, by the relay and by the server."""
    disk = tmpfs(folder / "disk", "256k")
    sender = relay(f"grpc://unix:{folder}/grpc.sock", "--spool", str(disk / "spool"), "--linger", "200s", stdin=subprocess.PIPE,
                   stderr=subprocess.DEVNULL)
    writer = feed(sender, "web-1", "shop", 300, 100, 20)
    write(writer, 299)
    until(lambda: spool_size(disk / "spool") > 150_000, "the disk fills up")
    server = Server(folder)
    until(lambda: (server.host() or {}).get("storedRequests", 0) > 0, "what waited is delivered")
    until(lambda: spool_size(disk / "spool") < 50_000, "the spool is empty again")
    write(writer)
    written, state = finish(writer, sender)
    host = check_sums(server, written)
    check(state["lostRequests"] == host["lostRequests"] == 100 * state["dropped"] > 0, f"both count the same loss: {host} {state}")
    check(sender.returncode == 2, "a loss is an exit code of 2")
    server.end()
    return {"stored": host["storedRequests"], "lost": host["lostRequests"]}


def skew(folder, _):
    """Hosts whose clocks are hours off: their requests land where they belong, and the difference is shown."""
    server = Server(folder)
    shifts = {"ahead": 5 * 3600, "behind": -9 * 3600, "right": 0}
    for name, shift in shifts.items():
        env = dict(os.environ, CLOCK_SHIFT=str(shift), LD_PRELOAD=str(BIN / "libshifted_clock.so"))
        sender = relay(f"grpc://{server.listen}", "--linger", "60s", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        writer = feed(sender, name, "shop", 3, 40, 5, env=env)
        write(writer, 3)
        _, state = finish(writer, sender)
        check(state["delivered"] == 3, f"{name}: {state}")
    hosts = {host["host"]: host for host in server.get("/fleet/hosts")["hosts"]}
    for name, shift in shifts.items():
        check(hosts[name]["storedRequests"] == 120 and hosts[name]["lostRequests"] == 0, f"all requests land: {hosts[name]}")
        check(abs(hosts[name]["skewMs"] + 1000 * shift) < 600_000, f"the difference is shown: {hosts[name]}")
    count = lambda **query: sum(route["requests"] for route in server.get("/fleet/routes", service="shop", **query)["routes"])
    check(count(last="15m") == 360, "a range holds what happened in it, whatever the clocks said")
    check(count(last="15m", host="ahead") == count(last="15m", host="behind") == 120, "also by host")
    now = time.time()
    check(count(**{"from": now + 3600, "to": now + 86400}) == count(**{"from": now - 86400, "to": now - 3600}) == 0, "nothing elsewhere")
    for request in server.get(f"/fleet/requests/{1:016x}{7:016x}")["requests"]:
        time_of = datetime.datetime.fromisoformat(request["startTime"].replace("Z", "+00:00")).timestamp()
        check(abs(time_of - now) < 900, f"{request['host']} begins now: {request['startTime']}")
    server.end()
    return {name: round(hosts[name]["skewMs"] / 3600_000) for name in shifts}


def main():
    folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder = folder / name
    folder.mkdir(parents=True)
    test = {"outage": outage, "full_disk": full_disk, "full_spool": full_spool, "skew": skew}[name]
    print(json.dumps({name: test(folder, float(sys.argv[3]) if len(sys.argv) > 3 else 0)}))


if __name__ == "__main__":
    main()
