"""What must hold of every answer, whatever the target did."""
import json
import re
import unicodedata

MOST_MEMORY = 1536 << 20  # bytes that one command may hold
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def commands_terminal(data):
    """The first thing in these bytes that a terminal would obey; empty when there is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}: {data[max(0, error.start - 20):error.start + 10]!r}"
    if found := CONTROLS.search(text):
        return f"control character {ord(found[0]):#x} ({unicodedata.category(found[0])}) after {text[max(0, found.start() - 30):found.start()]!r}"
    return ""


def why(errors):
    """The line that tells what failed."""
    for line in errors.decode(errors="replace").splitlines():
        if line.startswith("clrscope: "):
            return line[10:]
    return ""


def judge_command(word, run, must_fail):
    """Complaints about a command that has ended."""
    out = []
    if run.hung:
        return [f"did not end within {run.limit} s"]
    if run.code < 0 or run.code >= 128:
        out.append(f"ended by signal: {run.code}")
    if must_fail and run.code == 0:
        out.append("succeeds though nothing true can be told")
    if run.code not in (0, 10, 130) and not why(run.errors):
        out.append(f"ends with {run.code} without a reason")
    for name, data in (("stdout", run.output), ("stderr", run.errors)):
        if found := commands_terminal(data):
            out.append(f"{name}: {found}")
    if word.encode() in run.output + run.errors or any(word.encode() in data for data in run.files):
        out.append("shows a file that only root may read")
    if run.memory > MOST_MEMORY:
        out.append(f"took {run.memory >> 20} MB of memory")
    return out


def judge_answer(word, answer, must_fail):
    if answer.failure:
        return [answer.failure]
    out = []
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    if must_fail and answer.status < 400:
        out.append(f"{answer.status} though nothing true can be told")
    if answer.status >= 400 and not answer.body.strip():
        out.append(f"{answer.status} without a reason")
    if "json" in kind and not answer.cut:
        whole = kind in ("application/json", "application/problem+json")
        for piece in [answer.body] if whole else re.split(rb"[\n\x1e]", answer.body):
            try:
                json.loads(piece or b"null", strict=True)
            except ValueError as error:
                out.append(f"invalid JSON: {error}")
                break
    if kind.startswith("text/") and not answer.cut:
        body = answer.body
        if kind == "text/event-stream":
            body = body.replace(b"\r\n", b"\n")
        if found := commands_terminal(body):
            out.append(found)
    if CONTROLS.search("".join(f"{key}{value}" for key, value in answer.headers.items())):
        out.append("control characters in headers")
    if word.encode() in answer.body or word in str(answer.headers):
        out.append("shows a file that only root may read")
    return out
