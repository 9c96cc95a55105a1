#!/usr/bin/env python3
"""Opens EventPipe sessions in a runtime until it refuses, says how many, and keeps them until it is ended.

    fill_sessions.py PID
"""
import glob
import json
import os
import signal
import socket
import struct
import sys


def text(words):
    return struct.pack("<I", len(words) + 1) + (words + "\0").encode("utf-16-le")


def main():
    folder = os.environ.get("TMPDIR", "/tmp")
    path = glob.glob(f"{folder}/dotnet-diagnostic-{sys.argv[1]}-*-socket")[0]
    # CollectTracing2: buffer in MB, format 1 (nettrace), no rundown, one provider.
    payload = struct.pack("<IIBI", 1, 1, 0, 1) + struct.pack("<QI", 1, 4) + text("Nobody") + text("")
    frame = b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload
    kept = []
    while len(kept) < 100:
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        one.sendall(frame)
        head = b""
        while len(head) < 20:
            piece = one.recv(20 - len(head))
            if not piece:
                break
            head += piece
        if len(head) < 20 or head[16] != 0xFF or head[17] != 0:  # refused
            break
        kept.append(one)
    print(json.dumps({"opened": len(kept)}), flush=True)
    signal.pause()


main()
