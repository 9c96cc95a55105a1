#!/usr/bin/env python3
"""Peers of sinks, each in a mood; what one understood goes to FOLDER/MOOD.txt, a line each.

    odd_peer.py FOLDER MOOD …

Writes FOLDER/peers.json, {"at": {"hang": "127.0.0.1:PORT", …}}, once all listen, and reads until it is ended. Moods:

    plain     reads lines
    pickle    reads carbon's pickles with Python's own pickle; writes "path value second"
    hang      accepts and never reads
    reset     reads one piece of each of the first five connections and resets them; then reads lines
    slow      reads 100 bytes at a time, ten times a second
    garbage   sends what nobody asked for, as much as goes, and reads lines
    udp       takes datagrams; writes "length line" for each line, the length being the datagram's; so do
              udp-dog, udp-influx and unix (a socket FOLDER/unix.sock)
"""
import json
import os
import pickle
import socket
import struct
import sys
import threading
import time


def send_garbage(connection):
    try:
        while True:
            connection.sendall(b"\0\xff{HTTP/1.1 500 \n" * 64)
    except OSError:
        pass


def read_lines(connection, out, size=65536, pause=0.0):
    rest = b""
    while piece := connection.recv(size):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            out.write(line.decode() + "\n")
        out.flush()
        if pause:
            time.sleep(pause)  # a slow reader is what is tested


def read_exactly(connection, count):
    got = b""
    while len(got) < count:
        piece = connection.recv(count - len(got))
        if not piece:
            raise EOFError
        got += piece
    return got


def read_pickles(connection, out):
    while True:
        (length,) = struct.unpack("!I", read_exactly(connection, 4))
        for path, (second, value) in pickle.loads(read_exactly(connection, length)):
            assert isinstance(path, str) and isinstance(second, int) and isinstance(value, float)
            out.write(f"{path} {value:g} {second}\n")
        out.flush()


def serve(mood, connection, number, out):
    try:
        if mood == "hang":
            return
        if mood == "reset" and number < 5:
            connection.recv(500)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        elif mood == "pickle":
            read_pickles(connection, out)
        else:
            if mood == "garbage":
                threading.Thread(target=send_garbage, args=(connection,), daemon=True).start()
            read_lines(connection, out, *((100, 0.1) if mood == "slow" else ()))
    except (OSError, EOFError):
        pass  # it went


def take_datagrams(listener, out):
    while True:
        packet = listener.recv(65536)
        for line in packet.decode().splitlines():
            out.write(f"{len(packet)} {line}\n")
        out.flush()


def take_connections(mood, listener, out):
    kept = []
    while True:
        connection, _ = listener.accept()
        kept.append(connection)
        threading.Thread(target=serve, args=(mood, connection, len(kept) - 1, out), daemon=True).start()


def start(mood, folder):
    """Its address."""
    datagrams = mood.startswith("u")
    listener = socket.socket(socket.AF_UNIX if mood == "unix" else socket.AF_INET, socket.SOCK_DGRAM if datagrams else socket.SOCK_STREAM)
    listener.bind(f"{folder}/unix.sock" if mood == "unix" else ("127.0.0.1", 0))
    out = open(f"{folder}/{mood}.txt", "a")
    if datagrams:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        todo = threading.Thread(target=take_datagrams, args=(listener, out))
    else:
        listener.listen()
        todo = threading.Thread(target=take_connections, args=(mood, listener, out))
    todo.start()
    return f"unix:{folder}/unix.sock" if mood == "unix" else "127.0.0.1:%d" % listener.getsockname()[1]


def main():
    folder, *moods = sys.argv[1:]
    addresses = {mood: start(mood, folder) for mood in moods}
    with open(f"{folder}/peers.part", "w") as file:
        json.dump({"at": addresses}, file)
    os.rename(f"{folder}/peers.part", f"{folder}/peers.json")


if __name__ == "__main__":
    main()
