"""The HTTP directive of a case: a request for curl, and its answer."""
import dataclasses
import pathlib
import re

from values import CaseError, Missing

METHOD = re.compile(r"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s+(\S+)(?:\s+->\s+(\S+))?")
HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):\s+(.*)")


@dataclasses.dataclass
class Request:
    method: str
    path: str
    file: str = ""  # where the body of the answer goes; standard output when empty
    headers: list = dataclasses.field(default_factory=list)
    body: str = ""


def is_body(line):
    """Braces in a body are JSON, not only {variables}."""
    return line.startswith(("{", "["))


def parse(lines):
    match = METHOD.fullmatch(lines[0])
    if not match:
        raise CaseError(f"'{lines[0]}': write HTTP METHOD PATH [-> FILE]")
    request = Request(match[1], match[2], match[3] or "")
    for number, line in enumerate(lines[1:], 1):
        if header := HEADER.fullmatch(line):
            request.headers.append(f"{header[1]}: {header[2]}")
        else:
            request.body = "\n".join(lines[number:])
            break
    return request


def curl(address, request, head, seconds, user=0):
    """The command that sends it. A body "@FILE" is that file, as curl has it."""
    if user:  # who must be able to write it
        head.touch()
        head.chmod(0o666)
        head.parent.chmod(0o755)
    words = ["curl", "-sS", "--globoff", "--path-as-is", "--max-time", f"{seconds:.0f}", "-D", str(head)]
    if address.startswith("unix:"):
        words += ["--unix-socket", address[5:]]
        address = "http://localhost"
    words += ["--head"] if request.method == "HEAD" else ["-X", request.method]
    for header in request.headers:
        words += ["-H", header]
    if request.body:
        words += ["--data-binary", request.body]
    if request.file:
        words += ["-o", request.file]
    return [*words, address.rstrip("/") + request.path]


class Answer:
    """Status and headers, as curl wrote them."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def _lines(self):
        """Of the last answer ("100 Continue" comes before the real one), with its trailers."""
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        lines = []
        for line in text.splitlines():
            lines = [line] if line.startswith("HTTP/") else [*lines, line]
        return lines

    @property
    def status(self):
        match = re.match(r"HTTP/[\d.]+ (\d+)", "\n".join(self._lines()))
        return int(match[1]) if match else Missing("the status: no answer")

    def header(self, name):
        """Several of one name are joined by commas."""
        split = (line.partition(":") for line in self._lines()[1:])
        found = [value.strip() for key, _, value in split if key.lower() == name.lower()]
        return ", ".join(found) if found else Missing(f"header {name}")


def status_matches(wanted, status):
    return wanted == "any" or (isinstance(status, int) and (200 <= status < 300 if wanted == "2xx" else status == int(wanted)))
