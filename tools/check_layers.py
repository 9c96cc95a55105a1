#!/usr/bin/env python3
"""Fails on an include or a qualified name of a room that DEPS does not name, and on a third-party header outside its room.

    tools/check_layers.py [ROOT]

DEPS is read from the clrscope_room(…) line of each src/ROOM/CMakeLists.txt: it is the whole list of rooms whose
headers may be included. Third-party headers are seen where THIRD_PARTY says, fmt and tl::expected anywhere.
"""
import pathlib
import re
import sys

ROOM = re.compile(r"clrscope_room\(\s*(\w+)([^)]*)\)")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
NAME = re.compile(r"(?<![\w:.])(?:clrscope::)?(\w+)::\w")  # room::name
FOREIGN = {("net", "http")}  # boost::beast's namespace of that name
SOURCES = {".h", ".cpp", ".inc"}
TESTS = "tests"  # stands for every x_test.cpp and all of tests/, fuzz/ and bench/

# Header prefix → folders or files below src/ that may see it. An empty list: nobody.
THIRD_PARTY = {
    "fmt/": ["*"],
    "tl/": ["*"],
    "zstd": ["base/"],
    "zlib.h": ["base/"],
    "gtest/": [TESTS],
    "gmock/": [TESTS],
    "benchmark/": [TESTS],
    "boost/json": ["base/json"],
    "boost/": ["net/"],
    "openssl/": ["net/"],
    "nghttp2/": ["net/grpc_client"],
    "google/protobuf/": ["fleet/"],
    "grpc": ["fleet/"],
    "clrscope/fleet/v1/": ["fleet/"],  # generated from proto/
    "sqlite3.h": ["store/sqlite/"],
    "lttng/": ["sinks/"],
    "spdlog/": [],
    "CLI/": [],
}
SYSTEM_FOLDERS = {"sys", "linux", "asm", "arpa", "netinet", "net", "experimental"}


def read_rooms(root):
    """Room → the set of rooms it may include, itself among them."""
    rooms = {}
    for cmake in sorted((root / "src").glob("*/CMakeLists.txt")):
        for name, arguments in ROOM.findall(re.sub(r"#.*", "", cmake.read_text())):
            words, dependencies, in_deps = arguments.split(), {name}, False
            for word in words:
                if word.isupper():
                    in_deps = word == "DEPS"
                elif in_deps:
                    dependencies.add(word)
            rooms[name] = dependencies
    return rooms


def find_cycle(rooms):
    """A list of rooms that lead back to the first one, or None."""
    done = set()

    def visit(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for dependency in sorted(rooms.get(room, set()) - {room}):
            if cycle := visit(dependency, path + [room]):
                return cycle
        done.add(room)
        return None

    for room in sorted(rooms):
        if cycle := visit(room, []):
            return cycle
    return None


def third_party_complaint(place, is_test, header):
    """Why `header` must not be included at `place` (a path below src/), or None."""
    for prefix, allowed in THIRD_PARTY.items():
        if not header.startswith(prefix):
            continue
        if "*" in allowed or (is_test and TESTS in allowed) or any(place.startswith(a) for a in allowed):
            return None
        where = " or ".join(allowed) if allowed else "no room: see docs/adr/0001-dependencies.md"
        return f"<{header}> belongs to {where}"
    folder = header.split("/")[0]
    if "/" in header and folder not in SYSTEM_FOLDERS:
        return f"<{header}> is not in THIRD_PARTY of tools/check_layers.py: name the one room that may see it"
    return None


def check_file(path, place, room, rooms):
    """Complaints about one file; `place` is its path below src/, `room` the room's name."""
    is_test = place.endswith("_test.cpp") or "/testing/" in place
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            code = re.sub(r'"(\\.|[^"\\])*"|//.*', "", line)
            for other in NAME.findall(code):
                if other in rooms and other not in rooms[room] and (room, other) not in FOREIGN:
                    yield number, f"{other}::…: {room} may not name {other}, whose headers it may not include either"
            continue
        quote, header = match.groups()
        if quote == "<":
            if complaint := third_party_complaint(place, is_test, header):
                yield number, complaint
            continue
        other = header.split("/")[0]
        if is_test and other == "fakes":  # tests/fakes: peers that speak the real protocol
            continue
        if "/" not in header or other not in rooms:
            yield number, f'"{header}": include our headers from src/, as "room/file.h"'
        elif other not in rooms[room]:
            yield number, f'"{header}": {room} may not include {other}; add {other} to DEPS in src/{room}/CMakeLists.txt ' \
                          "only if the table of layers allows it"


def check(root):
    """All complaints as lines of text."""
    rooms = read_rooms(root)
    complaints = []
    for name, dependencies in sorted(rooms.items()):
        for unknown in sorted(dependencies - rooms.keys()):
            complaints.append(f"src/{name}/CMakeLists.txt:1: DEPS names {unknown}, which is no room")
    if cycle := find_cycle(rooms):
        complaints.append(f"src/{cycle[0]}/CMakeLists.txt:1: rooms depend on each other: {' → '.join(cycle)}")
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SOURCES or not path.is_file():
            continue
        place = path.relative_to(root / "src").as_posix()
        room = place.split("/")[0]
        if room not in rooms:
            complaints.append(f"src/{place}:1: {room} has no clrscope_room() in src/{room}/CMakeLists.txt")
            continue
        complaints += [f"src/{place}:{number}: {text}" for number, text in check_file(path, place, room, rooms)]
    return complaints


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    complaints = check(root)
    for line in complaints:
        print(line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
