#!/usr/bin/env python3
"""Checks of the whole tree that need no compiler: sizes, registries, VERSION, traces of the machine it was made on.

    tools/check_tree.py [-v] [ROOT]

-v also names the files that are longer than one should aim for.
"""
import pathlib
import re
import subprocess
import sys

AIM, LIMIT = 300, 800  # lines
SIZED = {".cpp", ".h", ".cs", ".ts", ".tsx", ".py"}
# One list, one folder: the list, the word in it, whether every file of the folder must be in it (in sinks/ lie helpers too).
REGISTRIES = [
    ("src/export/formats.inc", "src/export/formats", "FORMAT", True),
    ("src/analyze/reports.inc", "src/analyze/reports", "REPORT", True),
    ("src/doctor/findings.inc", "src/doctor/findings", "FINDING", True),
    ("src/sinks/sinks.inc", "src/sinks", "SINK", False),
    ("src/cli/verbs.inc", "src/cli/verbs", "VERB", True),
    ("src/live/topics.inc", "src/live/topics", "TOPIC", True),
    ("src/http/routes.inc", "src/http/routes", "ROUTES", True),
]
# Paths that exist only on the machine where a change was made, and package mirrors. Written so that this file passes.
MACHINE = re.compile(r"(?<![\w.}\])$…-])/(?:work|root)/\w")
MIRROR = re.compile(r"https?://[^\s\"'<>]*/(?:artifactory|nexus|repository/(?:npm|nuget|pypi))\b", re.IGNORECASE)
RESOLVED = re.compile(r'"resolved":\s*"https?://(?!registry\.npmjs\.org/)')
SETTINGS = {"nuget.config", ".npmrc", "pip.conf", ".yarnrc"}


def tracked_files(root):
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"], check=True,
                             capture_output=True).stdout.decode()
    return sorted({root / name for name in listing.split("\0") if name and (root / name).is_file()})


def check_sizes(root, files, notices):
    for path in files:
        if path.suffix not in SIZED:
            continue
        lines = path.read_bytes().count(b"\n")
        name = path.relative_to(root)
        if lines > LIMIT:
            yield f"{name}:{LIMIT + 1}: {lines} lines, at most {LIMIT}: divide the file by what it does"
        elif lines > AIM:
            notices.append(f"{name}:{AIM + 1}: notice: {lines} lines; aim for {AIM}")


def check_registries(root):
    for inc, folder, word, whole_folder in REGISTRIES:
        if not (root / inc).is_file():
            continue
        entries = {}
        for number, line in enumerate((root / inc).read_text().splitlines(), 1):
            for name in re.findall(rf"^\s*{word}\((\w+)(?:, \w+)?\)", line):
                entries[name] = number
        for name, number in entries.items():
            if not (root / folder / f"{name}.cpp").is_file():
                yield f"{inc}:{number}: {word}({name}) has no {folder}/{name}.cpp: write it or take the line out"
        for path in sorted((root / folder).glob("*.cpp")):
            name = path.stem
            defines = re.search(rf"^(?:extern )?const \w+ {name}_{word.lower()}\b", path.read_text(), re.MULTILINE)
            if not name.endswith("_test") and name not in entries and (whole_folder or defines):
                yield f"{folder}/{name}.cpp:1: not in {inc}: add {word}({name}) there"


def check_version(root):
    text = (root / "VERSION").read_text()
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?\n", text):
        yield f"VERSION:1: {text.strip()!r} is not MAJOR.MINOR.PATCH[-label] on a line of its own"


def check_machine(root, files):
    for path in files:
        name = path.relative_to(root)
        if path.name.lower() in SETTINGS:
            yield f"{name}:1: package sources are the user's own setting: do not commit this file"
        data = path.read_bytes()
        if b"\0" in data[:8192] or len(data) > 4 << 20:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                yield f"{name}:{number}: a path of one machine: use a relative path, a variable or mktemp"
            if MIRROR.search(line) or RESOLVED.search(line):
                yield f"{name}:{number}: a package mirror's address: name the package only"


def main():
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    root = pathlib.Path(arguments[0]).resolve() if arguments else pathlib.Path(__file__).resolve().parent.parent
    files, notices = tracked_files(root), []
    complaints = [*check_sizes(root, files, notices), *check_registries(root), *check_version(root), *check_machine(root, files)]
    for line in complaints + (notices if "-v" in sys.argv else []):
        print(line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
