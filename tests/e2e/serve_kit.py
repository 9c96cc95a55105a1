"""A controller for a test: started with a folder of its own, ended with the test."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

SCOPES = ["metrics", "read", "trace", "memory", "admin"]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode(errors="replace")

    def json(self):
        return json.loads(self.body)


class Serve:
    """serve on a free port of loopback; `urls` and further options as on the command line."""

    def __init__(self, *options, urls="http://127.0.0.1:0", folder=None, env=None, before=()):
        self.bin = os.environ.get("CLRSCOPE") or shutil.which("clrscope")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="serve"))
        self.folder = pathlib.Path(folder or self.home / "state")
        self.errors = open(self.home / "stderr", "w+")
        self.process = subprocess.Popen(
            [*before, self.bin, "serve", "--urls", urls, "--metric-urls=", "--folder", str(self.folder), "--json", *options],
            stdout=subprocess.PIPE, stderr=self.errors, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise SystemExit(f"serve did not start: {self.said()}")
        self.told = json.loads(line)
        self.expected = 0
        self.url = self.told["urls"][0]["url"]
        self.at = urllib.parse.urlsplit(self.url)
        opened = urllib.parse.urlsplit(self.told.get("open", ""))
        self.once = f"{opened.path}?{opened.query}"  # what a browser opens once,
        self.pages = opened.netloc                   # and the host that its pages have

    def kill(self):
        self.expected = -signal.SIGKILL
        self.process.kill()
        self.process.wait()

    def said(self):
        self.errors.flush()
        return (self.home / "stderr").read_text()

    def key(self, *scopes, name="", more=(), user=None):
        out = subprocess.run([self.bin, "key", "create", "--folder", str(self.folder), "--scopes", ",".join(scopes),
                              "--name", name or "-".join(scopes), "--json", *more], capture_output=True, check=True,
                             user=user, group=user, extra_groups=None if user is None else [])
        made = json.loads(out.stdout)
        self.newest = made["key"]
        return made

    def keys_known(self):
        """Until the server has taken the file with the newest key."""
        # It looks each second. Not asked too often: many wrong keys from one address are refused otherwise.
        known = until(lambda: self.ask("/processes", key=self.newest, whole=False).status not in (401, 429), pause=0.25)
        check(known, "the server takes new keys")

    def connect(self, timeout=60):
        if self.url.startswith("https"):
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return http.client.HTTPSConnection(self.at.hostname, self.at.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=timeout)

    def ask(self, path, method="GET", key=None, body=None, headers=None, whole=True, timeout=60):
        """One request; `whole`: False reads the head only and leaves."""
        connection = self.connect(timeout)
        fields = dict(headers or {})
        if key:
            fields["Authorization"] = f"Bearer {key}"
        try:
            connection.request(method, path, body=body, headers=fields)
            answer = connection.getresponse()
            data = answer.read() if whole or answer.getheader("Content-Length") else b""
            return Answer(answer.status, answer.headers, data)
        finally:
            connection.close()

    def raw(self, data, timeout=20):
        """Bytes as they are; what came until the end or the timeout."""
        with socket.create_connection((self.at.hostname, self.at.port), timeout=timeout) as connection:
            connection.sendall(data)
            out = b""
            try:
                while piece := connection.recv(65536):
                    out += piece
            except socket.timeout:
                pass
            return out

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise SystemExit("serve did not end within 20 s")
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.end()
        if kind is None and code != self.expected:
            raise SystemExit(f"serve ended with {code}: {self.said()}")


def until(truth, seconds=90, pause=0.05):
    """What `truth` returns once that is true; None when it never was."""
    deadline = time.monotonic() + seconds
    while True:
        if value := truth():
            return value
        if time.monotonic() > deadline:
            return None
        time.sleep(pause)


failures = []


def check(truth, what):
    if not truth:
        failures.append(what)
        print("NOT", what)


def finish():
    print(json.dumps({"failures": failures}))
    sys.exit(1 if failures else 0)
