#!/usr/bin/env python3
"""A process that looks like .NET from outside and lies: threads, socket and answers of a runtime.

    hostile_runtime.py [--dump WHAT]

Asked for a dump it says "written" and puts at that place
    link:FILE   a symbolic link to it
    fifo        a pipe that nobody writes to
    text:TEXT   a file with that text
    none        nothing
and writes the path it was told to a line of stdout. Writes its pid to $TMPDIR/hostile.pid, then "ready". Runs until it is ended.
"""
import argparse
import ctypes
import os
import socket
import struct
import sys
import threading

MAGIC = b"DOTNET_IPC_V1\0"


def name_thread(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


def sleep_as(name):
    name_thread(name)
    threading.Event().wait()


def text(value):
    units = (value + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def read_text(payload):
    count = struct.unpack_from("<I", payload)[0]
    return payload[4:4 + 2 * count].decode("utf-16-le").rstrip("\0")


def frame(command_set, command, payload):
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), command_set, command, 0) + payload


def success(payload):
    return frame(0xFF, 0x00, payload)


def refuse(code):
    return frame(0xFF, 0xFF, struct.pack("<I", code))


def process_info():
    return (struct.pack("<Q", os.getpid()) + bytes(16) + text("hostile") + text("Linux") + text("x64") + text("hostile") + text("10.0.0"))


def plant(how, path):
    kind, _, value = how.partition(":")
    if kind == "link":
        os.symlink(value, path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "text":
        with open(path, "w") as out:
            out.write(value)


def answer(connection, dump):
    head = connection.recv(20, socket.MSG_WAITALL)
    if len(head) < 20 or head[:14] != MAGIC:
        return
    size, command_set, command = struct.unpack_from("<HBB", head, 14)
    payload = connection.recv(size - 20, socket.MSG_WAITALL) if size > 20 else b""
    if (command_set, command) == (4, 4):
        connection.sendall(success(process_info()))
    elif command_set == 1:
        path = read_text(payload)
        print(path, flush=True)
        try:
            plant(dump, path)
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
        connection.sendall(success(struct.pack("<I", 0)))
    else:
        connection.sendall(refuse(0x80131385))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", default="none")
    options = parser.parse_args()
    for name in (".NET SynchManag", ".NET EventPipe", ".NET Finalizer"):
        threading.Thread(target=sleep_as, args=(name,), daemon=True).start()
    name_thread(".NET hostile")
    with open("/proc/self/stat") as stat:
        key = stat.read().rpartition(")")[2].split()[19]
    folder = os.environ.get("TMPDIR", "/tmp")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/dotnet-diagnostic-{os.getpid()}-{key}-socket")
    listener.listen()
    with open(f"{folder}/hostile.pid", "w") as out:
        out.write(os.readlink("/proc/self"))
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                answer(connection, options.dump)
            except OSError:
                pass


main()
