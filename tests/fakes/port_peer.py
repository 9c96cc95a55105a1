#!/usr/bin/env python3
"""Peers of a diagnostic port that are not runtimes.

    port_peer.py silent PORT COUNT        connects COUNT times and says nothing
    port_peer.py advertise PORT COUNT     COUNT processes, each advertises a cookie of its own and answers nothing
    port_peer.py repeat PORT UID          advertises the cookie of another runtime, given as its uid, again and again
    port_peer.py listen SOCKET            listens on a socket of its own (mode 666)

Each prints "ready" when it has connected (advertise: a dot for each) and keeps what it has open until it is ended. A
connection that is closed by the other end is reported: "closed COUNT"; what it is asked: "asked BYTES".
"""
import os
import select
import signal
import socket
import struct
import sys
import time
import uuid


def connect(port):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(port)
    return peer


def advertise(peer, cookie):
    try:
        peer.sendall(b"ADVR_V1\0" + cookie + struct.pack("<QH", os.getpid(), 0))
    except BrokenPipeError:
        pass  # closed already: reported below


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen()
    print("ready", flush=True)
    while True:
        peer, _ = listener.accept()
        said = peer.recv(65536)
        print(f"asked {len(said)}", flush=True)


def repeat(port, cookie):
    """A runtime whose connection is replaced connects again, so one time would not do."""
    closed = 0
    while True:
        peer = connect(port)
        advertise(peer, cookie)
        try:
            while data := peer.recv(65536):
                print(f"asked {len(data)}", flush=True)
        except ConnectionResetError:
            pass
        closed += 1
        print(f"closed {closed}", flush=True)
        time.sleep(0.005)


def tell_closed(peers):
    closed = 0
    while peers:
        for peer in select.select(peers, [], [])[0]:
            try:
                data = peer.recv(65536)
            except ConnectionResetError:
                data = b""
            if data:
                continue  # a question; nobody answers it
            peers.remove(peer)
            closed += 1
            print(f"closed {closed}", flush=True)
    while True:
        signal.pause()


def main():
    kind, port, *rest = sys.argv[1:]
    if kind == "listen":
        listen(port)
    if kind == "advertise":
        for _ in range(int(rest[0])):
            if os.fork() == 0:
                peer = connect(port)  # here: the kernel names who connects
                advertise(peer, uuid.uuid4().bytes)
                os.write(1, b".")
                while peer.recv(65536):
                    pass
                while True:
                    signal.pause()
        while True:
            signal.pause()
    if kind == "repeat":
        repeat(port, uuid.UUID(rest[0]).bytes_le)
    peers = [connect(port) for _ in range(int(rest[0]))]
    print("ready", flush=True)
    tell_closed(peers)


main()
