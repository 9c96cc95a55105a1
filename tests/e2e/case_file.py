"""Reads .case files: one directive a line, indented lines continue it, # begins a comment."""
import dataclasses
import pathlib
import re

from values import CaseError

COMMANDS = {"RUN", "SHELL", "ORACLE", "PEER", "WAIT"}  # what EXIT and EXPECT look at
STEPS = COMMANDS | {"APP", "USER", "ENV", "EXPECT", "SAVE", "BACKGROUND", "SIGNAL", "SEND", "UNTIL", "SKIP"}
HEADERS = {"NAME", "ON", "LIMIT", "LONG", "QUICK", "ALONE"}
TARGETS = ("net8.0", "net9.0", "net10.0")


@dataclasses.dataclass
class Step:
    line: int
    word: str
    text: str
    exit: str = "0"  # the exit codes a command may end with: "0", "1 2", "any"


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    name: str = ""
    targets: tuple = ("net10.0",)
    limit: float = 60
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
        case.targets = tuple(text.split())
        if unknown := set(case.targets) - set(TARGETS):
            raise CaseError(f"line {number}: {', '.join(sorted(unknown))}: ON takes {' '.join(TARGETS)}")
    elif word == "LIMIT":
        case.limit = float(text)
    elif text:
        raise CaseError(f"line {number}: {word} stands alone")
    else:
        setattr(case, word.lower(), True)


def parse(text, path=pathlib.Path("case")):
    case = Case(path)
    for number, line in logical_lines(text):
        word = line.split(None, 1)[0]
        rest = line[len(word):].strip()
        if word in HEADERS:
            _header(case, number, word, rest)
        elif word == "EXIT":
            command = next((s for s in reversed(case.steps) if s.word in COMMANDS), None)
            if not command:
                raise CaseError(f"line {number}: EXIT follows a command")
            command.exit = rest
        elif word in STEPS:
            if not rest:
                raise CaseError(f"line {number}: {word} of what?")
            case.steps.append(Step(number, word, rest))
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
