#!/usr/bin/env python3
"""A process that looks like .NET from outside and lies: threads, socket, files and answers of a runtime.

    hostile_runtime.py [--OPTION WHAT]…

--socket   real, deaf (never accepts), fifo, file, folder, link:PATH
--port     how every command is answered: honest, silent, drip, size-0, size-65535, close, garbage, kind, exit (ends in mid-answer)
--info     the answer about itself: honest, escapes, long, utf16, nul, pid, cut
--env      the environment: refuse, escapes, million, claim (4 GB), cut
--session  a kind of hostile_streams.py; refuse, silent, close, escapes (a refusal with them)
--dump     says "written" and puts there: link:FILE, fifo, text:TEXT, folder, sparse:BYTES, none; or silent, escapes
--hook     says "applied" and answers with: link:FILE, fifo, escapes, sparse:BYTES, none
--image    a mapped libcoreclr.so, a kind of hostile_images.py
--config   the runtimeconfig.json beside it: link:FILE, fifo, deep, escapes, sparse:BYTES
--perf-map /tmp/perf-PID.map: link:FILE, fifo, sparse:BYTES
--name     of its threads: plain, escapes
--traced   by a child of its own, which has stopped it

A dump's path is written to a line of stdout. Writes its pid to $TMPDIR/hostile.pid, then "ready". Runs until it is ended.
"""
import argparse
import ctypes
import os
import signal
import socket
import struct
import sys
import threading
import time

MAGIC = b"DOTNET_IPC_V1\0"
ESCAPES = "evil\x1b[2J\x1b]0;owned\x07\x08\r\n99999 fake\x9b2J\u202e"
BURST = 4 << 20  # bytes that a session says at once; then it goes on slowly, without end
PAUSE = threading.Event()  # never set
C = ctypes.CDLL(None, use_errno=True)


def name_thread(name):
    C.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


def sleep_as(name):
    name_thread(name)
    PAUSE.wait()


def text(value):
    units = value if isinstance(value, bytes) else (value + "\0").encode("utf-16-le", "surrogatepass")
    return struct.pack("<I", len(units) // 2) + units


def read_text(payload):
    count = struct.unpack_from("<I", payload)[0]
    return payload[4:4 + 2 * count].decode("utf-16-le").rstrip("\0")


def frame(command_set, command, payload):
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), command_set, command, 0) + payload


def success(payload=b""):
    return frame(0xFF, 0x00, payload)


def refuse(code, words=""):
    return frame(0xFF, 0xFF, struct.pack("<I", code) + (text(words) if words else b""))


def process_info(how):
    pid, words, version = os.getpid(), "hostile", "10.0.0"
    if how == "escapes":
        words = version = ESCAPES
    elif how == "long":
        words = "x" * 12_000
    elif how == "utf16":  # halves of pairs, in the wrong order
        words = b"\x00\xdc\x00\xd8a\x00\x00\xd8" * 20
    elif how == "nul":
        words = "a\0b\0\0c"
    elif how == "pid":
        pid = 1
    told = struct.pack("<Q", pid) + bytes(16) + text(words) + text("Linux") + text("x64") + text(words) + text(version)
    return told[:len(told) // 2] if how == "cut" else told


def send_environment(connection, how):
    if how == "claim":
        connection.sendall(success(struct.pack("<IH", 0xFFFFFFF0, 0)))
        return PAUSE.wait()
    if how == "million":
        variables = [f"V{i}=1" for i in range(1_000_000)]
    elif how == "escapes":
        variables = [f"A={ESCAPES}", f"{ESCAPES}=b", "=", "", "no equals"]
    else:
        variables = ["PATH=/bin"] * 10
    block = struct.pack("<I", len(variables)) + b"".join(map(text, variables))
    connection.sendall(success(struct.pack("<IH", len(block), 0)))
    connection.sendall(block[:len(block) // 2] if how == "cut" else block)


def plant(how, path):
    kind, _, value = how.partition(":")
    if kind == "link":
        os.symlink(value, path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind in ("text", "sparse", "escapes", "deep"):
        with open(path, "wb") as out:
            if kind == "text":
                out.write(value.encode())
            elif kind == "sparse":
                out.truncate(int(value))
            elif kind == "deep":
                out.write(b'{"runtimeOptions":' + b'{"a":[' * 100_000)
            else:
                out.write(f"state=open\npid=1\nurl=http://{ESCAPES}\nerror={ESCAPES}\n".encode())


def try_to_plant(how, path):
    try:
        plant(how, path)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)


def answer_badly(connection, how):
    """Any command, answered as --port says."""
    if how == "silent":
        PAUSE.wait()
    elif how == "drip":
        head = MAGIC + struct.pack("<HBBH", 65535, 0xFF, 0, 0)
        for byte in head + bytes(65515):
            connection.sendall(bytes([byte]))
            time.sleep(0.1)
    elif how == "size-0":
        connection.sendall(MAGIC + struct.pack("<HBBH", 0, 0xFF, 0, 0))
        PAUSE.wait()
    elif how == "size-65535":
        connection.sendall(MAGIC + struct.pack("<HBBH", 65535, 0xFF, 0, 0))
        PAUSE.wait()
    elif how == "close":
        connection.sendall(success())
    elif how == "garbage":
        while True:
            connection.sendall(os.urandom(4096))
            time.sleep(0.01)
    elif how == "kind":
        connection.sendall(frame(0x1B, 0x07, ESCAPES.encode()))
    elif how == "exit":
        connection.sendall(MAGIC + b"\x40")
        os._exit(0)


def answer(connection, options):
    head = connection.recv(20, socket.MSG_WAITALL)
    if len(head) < 20 or head[:14] != MAGIC:
        return
    size, command_set, command = struct.unpack_from("<HBB", head, 14)
    payload = connection.recv(size - 20, socket.MSG_WAITALL) if size > 20 else b""
    if options.port != "honest":
        answer_badly(connection, options.port)
    elif (command_set, command) in ((4, 0), (4, 4)):
        connection.sendall(success(process_info(options.info)))
    elif (command_set, command) == (4, 2) and options.env != "refuse":
        send_environment(connection, options.env)
    elif (command_set, command) == (4, 7) and options.hook != "refuse":
        try_to_plant(options.hook, os.path.dirname(read_text(payload)) + "/answer")
        connection.sendall(success(struct.pack("<I", 0)))
    elif command_set == 1:
        answer_dump(connection, options.dump, read_text(payload))
    elif command_set == 2 and options.session != "refuse":
        answer_session(connection, options.session, command)
    else:
        connection.sendall(refuse(0x80131385))


def answer_dump(connection, how, path):
    print(path, flush=True)
    if how == "silent":
        PAUSE.wait()
    if how == "escapes":
        return connection.sendall(refuse(0x80004005, ESCAPES))
    try_to_plant(how, path)
    connection.sendall(success(struct.pack("<I", 0)))


def answer_session(connection, how, command):
    if how == "escapes":
        return connection.sendall(refuse(0x80131386, ESCAPES))
    if command == 1:  # StopTracing: the stream goes on all the same
        return connection.sendall(success(struct.pack("<Q", 1)))
    connection.sendall(success(struct.pack("<Q", 1)))
    if how == "silent":
        PAUSE.wait()
    if how != "close":
        import hostile_streams
        sent = 0
        for piece in hostile_streams.stream(how):
            connection.sendall(piece)
            sent += len(piece)
            time.sleep(0.001 if sent < BURST else 0.1)


def serve_one(connection, options):
    with connection:
        try:
            answer(connection, options)
        except OSError:
            pass


def open_socket(how, path):
    """What lies where a runtime's socket would be; a listener where there is one."""
    if how not in ("real", "deaf"):
        plant({"file": "text:no socket"}.get(how, how), path)
        return None
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0 if how == "deaf" else 128)
    return listener


def stop_by_child():
    """A child traces this process and has stopped it."""
    if os.fork() == 0:
        parent = os.getppid()
        C.prctl(1, signal.SIGKILL, 0, 0, 0)
        C.ptrace(0x4206, parent, 0, 0)  # PTRACE_SEIZE
        C.ptrace(0x4207, parent, 0, 0)  # PTRACE_INTERRUPT
        while True:
            time.sleep(60)


def options_of(words):
    parser = argparse.ArgumentParser()
    for name, value in {"socket": "real", "port": "honest", "info": "honest", "env": "refuse", "session": "refuse", "dump": "none",
                        "hook": "refuse", "image": "", "config": "", "perf-map": "", "name": "plain"}.items():
        parser.add_argument(f"--{name}", default=value)
    parser.add_argument("--traced", action="store_true")
    return parser.parse_known_args(words)[0]


def main():
    options = options_of(sys.argv[1:])
    C.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER: anybody, as yama asks for
    evil = "\x1b[2J\n" if options.name == "escapes" else ""
    for name in (".NET SynchManag", ".NET EventPipe", ".NET Finalizer", f".NET {evil}x"):
        threading.Thread(target=sleep_as, args=(name,), daemon=True).start()
    name_thread(f".NET {evil}hostile")
    folder = os.environ.get("TMPDIR", "/tmp")
    if options.image:
        import hostile_images
        hostile_images.map_image(options.image, folder)
    if options.config:
        plant(options.config, sys.argv[0].removesuffix(".dll") + ".runtimeconfig.json")
    if options.perf_map:
        plant(options.perf_map, f"/tmp/perf-{os.getpid()}.map")
    with open("/proc/self/stat") as stat:
        key = stat.read().rpartition(")")[2].split()[19]
    listener = open_socket(options.socket, f"{folder}/dotnet-diagnostic-{os.getpid()}-{key}-socket")
    with open(f"{folder}/hostile.pid", "w") as out:
        out.write(os.readlink("/proc/self"))
    print("ready", flush=True)
    if options.traced:
        stop_by_child()
    if not listener or options.socket == "deaf":
        PAUSE.wait()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection, options), daemon=True).start()


main()
