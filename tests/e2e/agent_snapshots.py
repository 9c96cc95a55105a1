#!/usr/bin/env python3
"""Asks every agent below FOLDER for COUNT snapshots of all stacks, one after the other, with all sources on.

    agent_snapshots.py FOLDER COUNT

Nobody reads the rings: they fill up, and the agent must go on. Prints the outcomes as JSON.
"""
import collections
import json
import pathlib
import socket
import struct
import sys

from agent_client import PROTOCOL

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
OPEN, SWITCH, SNAPSHOT = 2, 3, 4
outcomes = collections.Counter()
agents = sorted(folder.glob("clrscope-agent-*/control"))
for path in agents:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(30)
        peer.connect(str(path))

        def ask(kind, value=0):
            peer.send(struct.pack("<IHHII", 0x52414C43, PROTOCOL, kind, 1, value))
            reply, *_ = socket.recv_fds(peer, 256, 1)
            outcome, hresult = struct.unpack_from("<i", reply, 12)[0], struct.unpack_from("<I", reply, 40)[0]
            return outcome if outcome == 0 else f"{outcome} {hresult:#x}"

        outcomes[f"open {ask(OPEN)}"] += 1
        outcomes[f"switch {ask(SWITCH, 7)}"] += 1
        for _ in range(count):
            outcomes[f"snapshot {ask(SNAPSHOT)}"] += 1
print(json.dumps({"agents": len(agents), "done": outcomes["snapshot 0"], "outcomes": outcomes}))
