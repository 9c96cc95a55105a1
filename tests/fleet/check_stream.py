#!/usr/bin/env python3
"""Long answers of /fleet/points leave while they are made: memory stays bounded, slow clients hold up nobody, failures show.

    check_stream.py FOLDER sqlite|clickhouse

Fills a store with 360,000 points: held whole, as JSON and before it was JSON, they take more than 200 MB. Prints what happened
as JSON.
"""
import hashlib
import json
import pathlib
import re
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

from cluster import Cluster  # noqa: E402
from fleet_kit import BIN, Server, check, until  # noqa: E402

GROUPS, SECONDS = 100, 3600
PART = 450  # seconds that are long enough to fill the buffers of a connection
SLOW = 12  # clients, of which eight may be slow at a time


class LoggingServer(Server):
    """Its log is a file."""

    def start(self):
        with open(self.folder / "log", "w") as log:
            self.process = subprocess.Popen([str(word) for word in [
                BIN / "clrscope-fleet", "serve", "--store", self.store, "--listen", self.listen, "--http", "127.0.0.1:0", "--json",
                "--no-auth"]], text=True, stdout=subprocess.PIPE, stderr=log)
        self.address = json.loads(self.process.stdout.readline() or "{}")
        check(self.address, "the server prints its addresses")

    def broken_off(self):
        return re.findall("was broken off: (.*)", (self.folder / "log").read_text())

    def peak(self):
        """MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1024


class Client:
    """Asks for points; reads the head, and the rest when it is told to."""

    def __init__(self, server, begin, end):
        host, port = server.address["http"].removeprefix("http://").split(":")
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # before it connects
        self.socket.settimeout(100)
        self.socket.connect((host, int(port)))
        self.socket.sendall(f"GET /fleet/points?service=shop&by=status&step=1s&from={begin}&to={end} HTTP/1.1\r\n"
                            f"Host: {host}:{port}\r\n\r\n".encode())
        self.held = b""
        while b"\r\n\r\n" not in self.held:
            self.read()
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        self.head = head.decode()

    def read(self):
        piece = self.socket.recv(1 << 20)
        self.held += piece
        return piece

    def line(self):
        while b"\r\n" not in self.held:
            if not self.read():
                return None
        line, self.held = self.held.split(b"\r\n", 1)
        return line

    def rest(self):
        """Length and hash of the body; nothing if it broke off."""
        count, sha = 0, hashlib.sha256()
        try:
            while True:
                line = self.line()
                if line is None:
                    return None
                size = int(line, 16)
                while len(self.held) < size + 2:
                    if not self.read():
                        return None
                if size == 0:
                    return count, sha.hexdigest()
                sha.update(self.held[:size])
                count += size
                self.held = self.held[size + 2:]
        except ConnectionError:
            return None


def main():
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    cluster = Cluster(folder, 0, 0) if kind == "clickhouse" else None
    store = cluster.store() if cluster else f"sqlite:{folder}/fleet.db"
    if cluster:
        subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", store], check=True, stdout=subprocess.DEVNULL)
    filled = json.loads(subprocess.run([BIN / "store_fill", store, str(GROUPS), str(SECONDS)], check=True, stdout=subprocess.PIPE).stdout)
    begin, end = filled["from"], filled["to"]
    server = LoggingServer(folder, listen="127.0.0.1:0", store=store)
    server.get("/fleet/services")
    answer = {"rows": filled["rows"], "idle": server.peak()}

    # More clients than queries may run read nothing but the head; others are answered.
    slow = [Client(server, begin, end) for _ in range(3)]
    check(all("HTTP/1.1 200" in one.head and "chunked" in one.head for one in slow), f"heads: {slow[0].head}")
    points = server.get("/fleet/points", service="shop", by="status", step="1s", **{"from": begin, "to": begin + PART})["points"]
    keys = [(point["time"], point["group"]) for point in points]
    check(len(keys) == PART * GROUPS and len(set(keys)) == len(keys), f"{len(keys)} points")
    check([time for time, _ in keys] == sorted(time for time, _ in keys), "by time")
    whole = slow[0].rest()
    check(whole is not None and slow[1].rest() == whole, "slow clients get all of it")
    answer["bytes"], answer["peak"] = whole[0], server.peak()
    slow[2].socket.close()

    # Clients that leave in the middle make room for others.
    for _ in range(SLOW):
        Client(server, begin, begin + PART).socket.close()
    part = Client(server, begin, begin + PART).rest()
    check(part is not None, "the server goes on")
    check(not server.broken_off(), f"a client that leaves is not worth a line: {server.broken_off()}")

    # Too many slow clients: the slowest are cut, and see it.
    slow = [Client(server, begin, begin + PART) for _ in range(SLOW)]
    until(lambda: len(server.broken_off()) >= SLOW - 8, "slow clients are cut")
    check(server.get("/fleet/routes", service="shop")["routes"], "others are answered")
    rests = [one.rest() for one in slow]
    answer["cut"] = rests.count(None)
    check(all(rest in (None, part) for rest in rests), "an answer that ends is whole")
    check(len(server.broken_off()) == answer["cut"], f"the log says which were cut: {server.broken_off()}")
    answer["why"] = server.broken_off()[0]

    if cluster:  # ends in the middle of an answer
        one = Client(server, begin, end)
        cluster.nodes[0].kill()
        check(one.rest() is None, "an answer whose store broke off does not look whole")
        until(lambda: len(server.broken_off()) > answer["cut"], "the log says why")
        answer["broken"] = server.broken_off()[-1]
    check(server.get("/health")["status"] == "ok", "the server goes on")
    answer["peak_of_all"] = server.peak()
    server.end()
    if cluster:
        cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
