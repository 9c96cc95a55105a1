#!/usr/bin/env python3
"""Switches all sources of the agent below FOLDER on and takes snapshots until its process ends. Prints `listening` as JSON,
then how many snapshots there were.

    agent_all_sources.py FOLDER
"""
import json
import pathlib
import socket
import struct
import sys

(path,) = pathlib.Path(sys.argv[1]).glob("clrscope-agent-*/control")
OPEN, SWITCH, SNAPSHOT = 2, 3, 4
ALL_SOURCES = 0x517 | (99 << 16)  # CPU samples 99 times a second
snapshots = 0
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
    peer.settimeout(30)
    peer.connect(str(path))

    def ask(kind, value=0):
        peer.send(struct.pack("<IHHII", 0x52414C43, 1, kind, 1, value))
        reply, fds, *_ = socket.recv_fds(peer, 256, 1)
        for fd in fds:
            socket.close(fd)
        return len(reply) >= 16 and struct.unpack_from("<i", reply, 12)[0] == 0

    assert ask(OPEN) and ask(SWITCH, ALL_SOURCES)
    print(json.dumps({"listening": True}), flush=True)
    try:
        while ask(SNAPSHOT):
            snapshots += 1
    except OSError:
        pass  # the process has ended
print(json.dumps({"snapshots": snapshots}))
