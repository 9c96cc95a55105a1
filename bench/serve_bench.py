"""The controller: small requests with a key, answers while slow streams are open, what it costs when nobody asks."""
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse

from kit import Row, median

REQUESTS_PER_SECOND = 40_000
P99_MS = 10
IDLE_MB = 30
STACKS_MS = 60
STREAMS = 200


class Controller:
    def __init__(self, kit):
        folder = kit.tmp / "serve"
        made = subprocess.run([kit.clrscope, "key", "create", "--folder", folder, "--scopes", "admin", "--json"], check=True,
                              stdout=subprocess.PIPE, env=kit.env)
        self.key = json.loads(made.stdout)["key"]
        self.process = subprocess.Popen([kit.clrscope, "serve", "--urls", "http://127.0.0.1:0", "--metric-urls=", "--folder", folder,
                                         "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kit.env)
        kit.started.append(self.process)
        self.url = json.loads(self.process.stdout.readline())["urls"][0]["url"]
        self.at = urllib.parse.urlsplit(self.url)
        self.fields = {"Authorization": f"Bearer {self.key}"}

    def ask(self, path, accept="application/json"):
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=60)
        connection.request("GET", path, headers={**self.fields, "Accept": accept})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def cpu_seconds(self):
        words = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def wrk(self, path, seconds, connections):
        """Requests a second, the 99th percentile in ms, failures, and the server's CPU for a request in µs."""
        before = self.cpu_seconds()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--latency", "-H", f"Authorization: Bearer {self.key}",
                              self.url + path], check=True, stdout=subprocess.PIPE, text=True).stdout
        spent = self.cpu_seconds() - before
        requests = int(re.search(r"(\d+) requests in", out)[1])
        number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
        return (float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit],
                int(failed[1]) if failed else 0, spent / requests * 1e6)


def open_streams(controller, path):
    """Streams whose clients read 100 bytes a tenth of a second."""
    sockets, stop = [], threading.Event()
    for _ in range(STREAMS):
        one = socket.create_connection((controller.at.hostname, controller.at.port))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                    f"Authorization: Bearer {controller.key}\r\n\r\n".encode())
        sockets.append(one)
    status = sockets[0].recv(200).split(b"\r\n")[0].decode()
    if " 200 " not in status:
        raise RuntimeError(f"{path}: {status}")
    for one in sockets:
        one.setblocking(False)

    def read():
        while not stop.wait(0.1):
            for one in sockets:
                try:
                    one.recv(100)
                except OSError:
                    pass
    reader = threading.Thread(target=read)
    reader.start()

    def end():
        stop.set()
        reader.join()
        for one in sockets:
            one.close()
    return end


def run(kit):
    if not shutil.which("wrk"):
        raise RuntimeError("wrk is missing: apt-get install wrk")
    app, _ = kit.sample("cpu", "--seconds", "300")
    pid = app.pid
    controller = Controller(kit)
    time.sleep(1)
    rows = [Row("controller, idle, memory", "MB", controller.rss_mb(), IDLE_MB)]
    before = controller.cpu_seconds()
    time.sleep(1 if kit.quick else 10)
    rows.append(Row("the same, CPU a minute", "ms", (controller.cpu_seconds() - before) * 1000 * (60 if kit.quick else 6)))
    paths = json.loads(controller.ask("/openapi.json")[1])["paths"]
    seconds = 1 if kit.quick else 10
    small = "/info" if "/info" in paths else "/status"
    speed, p99, failed, cost = controller.wrk(small, seconds, 32)
    if failed:
        raise RuntimeError(f"{failed} requests failed")
    rows.append(Row("small requests with a key", "/s", speed, REQUESTS_PER_SECOND, larger_is_better=True))
    rows.append(Row("the same, p99", "ms", p99))
    rows.append(Row("the same, CPU of the controller a request", "us", cost))
    if "/stacks" in paths:
        times = []
        for _ in range(3 if kit.quick else 21):
            start = time.monotonic()
            status, _ = controller.ask(f"/stacks?pid={pid}")
            times.append((time.monotonic() - start) * 1000)
            if status != 200:
                raise RuntimeError(f"/stacks: {status}")
        rows.append(Row("/stacks, median", "ms", median(times), STACKS_MS))
    if "/live" in paths:
        end = open_streams(controller, f"/live?pid={pid}")
        time.sleep(2)
        speed, p99, failed, _ = controller.wrk(small, seconds, 8)
        rows.append(Row(f"p99 with {STREAMS} slow streams open", "ms", p99, P99_MS))
        rows.append(Row("the same, requests", "/s", speed))
        rows.append(Row("the same, memory", "MB", controller.rss_mb()))
        end()
    else:
        print("serve: there is no /live yet: slow streams were not measured")
    return rows
