"""The clrscope serve that all requests go to: one for the whole run, so that what one attack leaves behind meets the next."""
import dataclasses
import http.client
import json
import pathlib
import re
import socket
import subprocess
import threading
import time

MOST_READ = 16 << 20  # bytes of an answer


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@dataclasses.dataclass
class Answer:
    status: int = 0
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    cut: bool = False  # there was more, or it ended early
    failure: str = ""

    def told(self):
        if self.failure:
            return self.failure
        try:
            problem = json.loads(self.body) if self.status >= 400 else {}
        except ValueError:
            problem = {}
        return f"{self.status} {problem.get('detail') or problem.get('title') or ''}".strip()

    def recording(self):
        try:
            return json.loads(self.body).get("id", "")
        except (ValueError, AttributeError):
            return ""


class Server:
    def __init__(self, clrscope, ground):
        self.folder = ground.folder / "serve"
        self.folder.mkdir(mode=0o700)
        self.path = str(self.folder / "s")
        self.errors = open(self.folder / "stderr", "wb+")
        self.process = subprocess.Popen(
            [clrscope, "serve", "--urls", f"unix:{self.path}", "--metric-urls=", "--folder", str(self.folder / "state"), "--allow", f"h{ground.run}-*",
             "--keep-live", "1s", "--json"], stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        if not self.process.stdout.readline():
            self.process.wait()
            raise SystemExit(f"serve did not start: {self.said()}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def said(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text(errors="replace")

    def ask(self, form, known, limit):
        path = form.words[0].format_map(known)
        body = None
        if form.body == "{file}":
            body = pathlib.Path(known["file"]).read_bytes()
        elif form.method == "POST":
            body = form.body.encode()
        answer = Answer()
        deadline = time.monotonic() + limit
        connection = UnixConnection(self.path, limit)
        try:
            headers = {"Accept": form.accept}
            if body:
                headers["Content-Type"] = "application/octet-stream" if form.body == "{file}" else "application/json"
            connection.request(form.method, path, body=body, headers=headers)
            response = connection.getresponse()
            answer.status, answer.headers = response.status, dict(response.getheaders())
            while len(answer.body) < MOST_READ and (piece := response.read1(1 << 16)):
                answer.body += piece
                if time.monotonic() > deadline:
                    raise TimeoutError
            answer.cut = len(answer.body) >= MOST_READ
        except TimeoutError:
            answer.failure = f"no whole answer within {limit} s"
        except (http.client.HTTPException, ConnectionError) as error:
            if answer.status:
                answer.cut = True  # a stream may end when its source does
            else:
                answer.failure = f"no answer: {error!r}"
        finally:
            connection.close()
        return answer

    def get(self, path, limit=30):
        connection = UnixConnection(self.path, limit)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def routes(self):
        paths = json.loads(self.get("/openapi.json")[1])["paths"]
        return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]

    def wait_for_operations(self, pid, limit=120):
        """What an answer has only begun, as POST /requests: until it has ended. It may place files in the target that it removes at its end."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and self.trouble() == "":
            running = [one for one in json.loads(self.get("/operations")[1]) if one["status"] in ("Running", "Stopping") and one["kind"] in ("requests", "doctor")]
            if not any(one.get("process", {}).get("pid") == pid for one in running):
                return
            time.sleep(0.05)

    def trouble(self):
        """What is wrong with the server; empty when nothing."""
        if self.process.poll() is not None:
            return f"serve ended with {self.process.returncode}: {self.said()[-300:]}"
        try:
            status, _ = self.get("/health/live")
            return "" if status == 200 else f"/health/live answers {status}"
        except OSError as error:
            return f"/health/live does not answer: {error}"

    def end(self):
        """Ends it in good order."""
        if trouble := self.trouble():
            return trouble
        self.process.terminate()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            return "serve does not end within 60 s: a worker is stuck"
        said = pathlib.Path(self.errors.name).read_bytes()
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", said):
            return "control characters in what serve says"
        return "" if code == 0 else f"serve ended with {code}: {self.said()[-300:]}"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
