"""Starts fleet servers, relays and sources for the tests here; ends them all at the end."""
import atexit
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

BIN = pathlib.Path(os.environ["FLEET_BIN"])
LIMIT = 60  # seconds for any condition

started = []


@atexit.register
def end_all():
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def start(*words, **pipes):
    started.append(subprocess.Popen([str(word) for word in words], text=True, **pipes))
    return started[-1]


def check(truth, what):
    if not truth:
        raise SystemExit(f"FAILED: {what}")


def until(condition, what):
    """The first true value of condition()."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise SystemExit(f"FAILED: waited {LIMIT} s: {what}")


class Server:
    """At a unix socket, so that it comes back at the same address."""

    def __init__(self, folder, *more, listen=None, store=None):
        self.folder = pathlib.Path(folder)
        self.store = store or os.environ.get("FLEET_STORE") or f"sqlite:{self.folder}/fleet.db"
        self.listen = listen or f"unix:{self.folder}/grpc.sock"
        self.more = more if "--token-file" in more else (*more, "--no-auth")
        self.start()

    def start(self):
        pathlib.Path(self.folder / "grpc.sock").unlink(missing_ok=True)
        self.process = start(BIN / "clrscope-fleet", "serve", "--store", self.store, "--listen", self.listen,
                             "--http", "127.0.0.1:0", "--json", *self.more, stdout=subprocess.PIPE)
        self.address = json.loads(self.process.stdout.readline() or "{}")
        check(self.address, "the server prints its addresses")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(30) == 0, "the server ends with exit code 0")

    def get(self, path, token=None, **query):
        url = self.address["http"] + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code

    def ask(self, path, query):
        """Status and JSON, of failures too."""
        url = self.address["http"] + path + "?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def post(self, path, body):
        """Status and JSON, of failures too."""
        request = urllib.request.Request(self.address["http"] + path, data=json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def host(self):
        hosts = self.get("/fleet/hosts")["hosts"]
        return hosts[0] if hosts else None


def relay(to, *more, stdin, **pipes):
    return start(BIN / "clrscope-fleet", "relay", "--to", to, "--json", *more, stdin=stdin, stdout=subprocess.PIPE, **pipes)


def source(*words, **pipes):
    return start(BIN / "fleet_source", *words, stderr=subprocess.PIPE, **pipes)
