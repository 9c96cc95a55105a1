#!/usr/bin/env python3
"""Recorded batches replayed as many hosts: every host is stored with counts of its own, and nothing is lost.

    check_replay.py FOLDER HOSTS
"""
import json
import pathlib
import subprocess
import sys

from fleet_kit import BIN, Server, check


def main(folder, hosts):
    frames = pathlib.Path(folder) / "frames"
    made = subprocess.run([BIN / "fleet_source", "web-1", "shop", "2", "10", "4"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    recorder = [BIN / "clrscope-fleet", "relay", "--json", "--to", f"file:{frames}"]
    recorded = subprocess.run(recorder, input=made, stdout=subprocess.PIPE, check=True)
    check(json.loads(recorded.stdout)["delivered"] == 2 and json.loads(recorded.stdout)["requests"] == 20, f"two batches are recorded: {recorded.stdout}")
    check(frames.stat().st_mode & 0o777 == 0o600 and frames.read_bytes()[:-16] == made, "the recording is what was read and an end mark, for its owner alone")
    check(subprocess.run(recorder, input=made, capture_output=True).returncode == 1, "a recording is not overwritten")
    check(subprocess.run([*recorder, "--spool", folder], input=made, capture_output=True).returncode == 3, "a file has no spool")
    server = Server(folder, listen="127.0.0.1:0")
    words = ["replay", "--frames", frames, "--to", f"grpc://{server.address['grpc']}", "--hosts", hosts, "--scale", "4", "--duration", "2s", "--json"]
    done = subprocess.run([BIN / "clrscope-fleet", *words], stdout=subprocess.PIPE, text=True)
    check(done.returncode == 0, f"all is delivered: {done.returncode}")
    told = json.loads(done.stdout)
    stored = server.get("/fleet/hosts")["hosts"]
    check(told["delivered"] == told["batches"], f"every batch is acknowledged: {told}")
    check(sum(one["storedRequests"] for one in stored) == told["requests"], "every request is stored")
    check(all(one["lostRequests"] == one["lostSpans"] == one["lostSamples"] == 0 for one in stored), "each host has counts of its own")
    traces = [one["traceId"] for one in server.get("/fleet/requests", service="shop", limit=1000)["requests"]]
    traces = [one for one in traces if int(one, 16)]  # the first request of a recording has none
    check(len(traces) > 100 and len(set(traces)) == len(traces), "trace ids are different")
    server.end()
    print(json.dumps({"hosts": len(stored), "perSecond": told["trueBatchesPerSecond"]}))


main(*sys.argv[1:])
