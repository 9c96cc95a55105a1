#!/usr/bin/env python3
"""Compares the rows of our DWARF reader with those of readelf, and its answers with addr2line's.

    compare_lines.py LINES_LIVE FILE      prints {"rows": N, "different": N, "asked": N, "differentAnswers": N}
"""
import json
import re
import subprocess
import sys


def run(*command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def theirs(file):
    rows = []
    for line in run("readelf", "-W", "--debug-dump=decodedline", file).splitlines():
        found = re.match(r"(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+|0)(?:\[\d+\])?(\s|$)", line)
        if found:
            rows.append((int(found[3], 16), found[2], found[1]))
    return rows


def ours(tool, file):
    rows = []
    for line in run(tool, "dwarf", file).splitlines():
        address, number, *name = line.split(" ", 2)
        rows.append((int(address, 16), number, name[0] if name else ""))
    return rows


def main():
    tool, file = sys.argv[1:]
    mine, other = ours(tool, file), theirs(file)
    # readelf prints one row of several with the same address and line; as sets they must agree.
    missing = set(other) ^ set(mine)
    starts = sorted({address for address, number, _ in other if number not in ("-", "0") and address > 0})
    asked = starts[:: max(1, len(starts) // 500)]
    words = "\n".join(f"{address:x}" for address in asked)
    answers = run(tool, "find", file, text=words).split()
    names = run("addr2line", "-e", file, "-s", text=words).splitlines()
    names = [re.sub(r" \(discriminator \d+\)", "", name) for name in names]
    wrong = sum(a != b for a, b in zip(answers, names))
    for a, b, address in list(zip(answers, names, asked))[:2000]:
        if a != b:
            print(f"{address:x}: ours {a}, addr2line {b}", file=sys.stderr)
    print(json.dumps({"rows": len(mine), "different": len(missing), "asked": len(asked), "differentAnswers": wrong}))


main()
