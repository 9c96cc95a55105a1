#!/usr/bin/env python3
"""The pprof file of a selection, decoded by another project's reader (npm: pprof-format), is the flame graph of the same selection.

    check_pprof.py FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys

from fleet_kit import Server, check, relay, source

HERE = pathlib.Path(__file__).parent


def send(server, host, service):
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source(host, service, 3, 40, 6, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "all is delivered")


def stacks_of(flame):
    """Stack → [calls, time], from the nodes in preorder."""
    found, above = {}, []
    for name, depth, self_ns, calls in zip(flame["name"], flame["depth"], flame["selfNs"], flame["calls"]):
        above[depth:] = [flame["names"][name]]
        if calls or self_ns:
            found[tuple(above)] = [calls, self_ns]
    return found


def main(folder):
    folder = pathlib.Path(folder)
    server = Server(folder, listen="127.0.0.1:0")
    for host in ("web-1", "web-2"):
        send(server, host, "shop")
    [shop] = server.get("/fleet/services")["services"]
    compared = 0
    for more in ({}, {"route": "GET /orders/{id}"}, {"host": "web-2"}, {"version": "1.0", "status": "5xx"}, {"fromPercentile": 50, "toPercentile": 99},
                 {"last": "1h"}, {"from": 1_000_000_000, "to": 4_000_000_000}, {"host": "nobody"}):
        for by in ("running", "cpu"):
            words = {"service": "shop", "by": by, **more}
            status, body = server.ask("/fleet/pprof", words)
            check(status == 200, f"{words}: {status} {body}")
            (folder / "profile.pb.gz").write_bytes(body)
            read = subprocess.run(["node", HERE / "pprof.mjs", folder / "profile.pb.gz"], check=True, capture_output=True, text=True, timeout=60)
            profile = json.loads(read.stdout)
            flame = server.ask("/fleet/flame", words)[1]
            check(profile["types"] == [["samples" if by == "cpu" else "calls", "count"], [by, "nanoseconds"]], f"{words}: {profile['types']}")
            check(profile["standard"] == by and profile["mapping"] == [["shop", True]], f"{words}: {profile}")
            check(f"requests: {flame['requests']}" in profile["comments"], f"{words}: {profile['comments']}")
            if "from" in more:
                check(profile["timeNanos"] == "1000000000000000000" and profile["durationNanos"] == "3000000000000000000", f"{words}: {profile['timeNanos']}")
            mine = {tuple(one["stack"]): one["values"] for one in profile["samples"]}
            check(len(mine) == len(profile["samples"]), f"{words}: each stack comes once")
            check(mine == stacks_of(flame), f"{words}: {mine} is not {stacks_of(flame)}")
            check(bool(mine) == (more.get("host") != "nobody"), f"{words}: {len(mine)} stacks")
            compared += len(mine)
            if mine and shutil.which("go"):  # the format's own tool, where it is installed
                top = subprocess.run(["go", "tool", "pprof", "-top", folder / "profile.pb.gz"], check=True, capture_output=True, text=True, timeout=60).stdout
                check("File: shop" in top and f"Type: {by}" in top and "100% of" in top, top)
    check(shop["requests"] == 240 and compared > 20, f"{compared} stacks of {shop['requests']} requests")
    server.end()
    print(f"pprof: ok, {compared} stacks")


main(sys.argv[1])
