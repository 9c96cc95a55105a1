#!/usr/bin/env python3
"""Sends garbage to the control socket of the agent below FOLDER, COUNT times, from a fixed seed: random bytes, and in turn
requests with the right beginning, of random kinds and values, some of them cut or too long.

    agent_garbage.py FOLDER COUNT
"""
import pathlib
import random
import socket
import struct
import sys

from agent_client import PROTOCOL

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
(path,) = folder.glob("clrscope-agent-*/control")
numbers = random.Random(7)
DETACH = 5  # not sent: it is understood


def message(number):
    if number % 2 == 0:
        return numbers.randbytes(numbers.randint(1, 200))
    kind = numbers.choice([numbers.randint(0, 65535), *range(1, DETACH), *range(DETACH + 1, 60)])
    whole = struct.pack("<IHHII", 0x52414C43, numbers.choice([PROTOCOL, PROTOCOL, numbers.randint(0, 65535)]), kind if kind != DETACH else 0,
                        numbers.getrandbits(32), numbers.getrandbits(32))
    return numbers.choice([whole, whole, whole[:numbers.randint(1, 15)], whole + b"x"])


for i in range(count):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(30)
        peer.connect(str(path))
        for _ in range(numbers.randint(1, 3)):
            try:
                peer.send(message(i))
                if not peer.recv(4096):  # a refusal, then the end
                    break
            except (BrokenPipeError, ConnectionResetError):
                break
