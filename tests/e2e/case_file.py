"""Reads .case files: one directive a line, indented lines continue it, # begins a comment."""
import dataclasses
import pathlib
import re

from values import CaseError

COMMANDS = {"RUN", "SHELL", "ORACLE", "PEER", "WAIT", "HTTP"}  # what EXIT, STATUS and EXPECT look at
REPEATABLE = {"RUN", "HTTP", "SHELL", "ORACLE"}  # what UNTIL can run until an expectation holds
STEPS = COMMANDS | {"APP", "USER", "ENV", "EXPECT", "SAVE", "BACKGROUND", "SIGNAL", "SEND", "UNTIL", "SKIP", "AT"}
HEADERS = {"NAME", "ON", "LIMIT", "LONG", "QUICK", "ALONE"}
TARGETS = ("net8.0", "net9.0", "net10.0")


@dataclasses.dataclass
class Step:
    line: int
    word: str
    text: str
    exit: str = "0"  # what a command must end with: one exit code, or "any"
    status: str = "2xx"  # what HTTP must answer: one status, "2xx" or "any"
    until: str = ""  # UNTIL RUN …: the expectation; word and text are the command's


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    name: str = ""
    targets: tuple = ("net10.0",)
    each: bool = False  # what is tested differs by runtime: always on all targets, not on one in rotation
    limit: float = 180
    long: bool = False
    quick: bool = False
    alone: bool = False  # what else runs on the machine would change its answer
    steps: list = dataclasses.field(default_factory=list)


def logical_lines(text):
    """(line number, directive with its continuation lines joined by newlines)."""
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#(\s.*)?$", "", raw).rstrip()
        if not line:
            continue
        if line[0].isspace():
            if not lines:
                raise CaseError(f"line {number}: continues nothing")
            lines[-1][1] += "\n" + line.strip()
        else:
            lines.append([number, line])
    return lines


def _header(case, number, word, text):
    if word == "NAME":
        case.name = text
    elif word == "ON":
        words = text.split()
        case.each = words[0] == "EACH"
        case.targets = tuple(words[1:] if case.each else words)
        if unknown := set(case.targets) - set(TARGETS):
            raise CaseError(f"line {number}: {', '.join(sorted(unknown))}: ON takes {' '.join(TARGETS)}")
    elif word == "LIMIT":
        case.limit = float(text)
    elif text:
        raise CaseError(f"line {number}: {word} stands alone")
    else:
        setattr(case, word.lower(), True)


SLEEPS = re.compile(r"\bsleep\s+[\d.$]|\bread\s+-t\b")


def _step(number, word, rest):
    """UNTIL RUN command => expectation is a RUN step with an `until`."""
    command = rest.split(None, 1)[0]
    if word != "UNTIL" or command not in REPEATABLE:
        return Step(number, word, rest)
    text, arrow, until = rest[len(command):].strip().rpartition(" => ")
    if not arrow:
        raise CaseError(f"line {number}: write UNTIL {command} … => EXPECTATION")
    return Step(number, command, text, until=until.strip())


def parse(text, path=pathlib.Path("case")):
    case = Case(path)
    for number, line in logical_lines(text):
        word = line.split(None, 1)[0]
        rest = line[len(word):].strip()
        if word in HEADERS:
            _header(case, number, word, rest)
        elif word in ("EXIT", "STATUS"):
            command = next((s for s in reversed(case.steps) if s.word in COMMANDS), None)
            if not command or (word == "STATUS" and command.word != "HTTP"):
                raise CaseError(f"line {number}: {word} must follow {'HTTP' if word == 'STATUS' else 'a command'}")
            if not re.fullmatch(r"any|2xx|\d+", rest):
                raise CaseError(f"line {number}: {word} takes one number or any")
            setattr(command, word.lower(), rest)
        elif word in STEPS:
            if not rest:
                raise CaseError(f"line {number}: {word} needs an argument")
            if word in ("SHELL", "UNTIL") and SLEEPS.search(rest):
                raise CaseError(f"line {number}: a case must not sleep: wait for what happens with UNTIL")
            case.steps.append(_step(number, word, rest))
        else:
            raise CaseError(f"line {number}: no directive {word}; see tests/e2e/README.md")
    if not case.name:
        raise CaseError("line 1: NAME is missing")
    return case


def load(path):
    try:
        return parse(path.read_text(), path)
    except CaseError as error:
        raise CaseError(f"{path}: {error}") from None
