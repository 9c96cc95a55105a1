#!/usr/bin/env python3
"""Sends garbage to the control socket of the agent below FOLDER, COUNT times, from a fixed seed.

    agent_garbage.py FOLDER COUNT
"""
import pathlib
import random
import socket
import sys

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
(path,) = folder.glob("clrscope-agent-*/control")
numbers = random.Random(7)
for _ in range(count):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(10)
        peer.connect(str(path))
        peer.send(numbers.randbytes(numbers.randint(1, 200)))
        while peer.recv(4096):  # its refusal, then the end
            pass
