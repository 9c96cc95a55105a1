#!/usr/bin/env python3
"""Adds up test results.

    tools/count_tests.py ctest JUNIT_FILE GTEST_FOLDER   one line "N passed, N failed, N skipped" for a ctest run
    tools/count_tests.py unittest LOG                    the same for a log of python's unittest
    tools/count_tests.py second LOG                      the programs of a ctest run that passed only when they were run again
    tools/count_tests.py sum < LINES                     the sum of such lines

A test program counts each of its tests. One that crashed, hung or did not start counts as one failure more.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


def count_gtest(path):
    """(passed, failed, skipped) of one program's XML."""
    counts = [0, 0, 0]
    for test in xml.etree.ElementTree.parse(path).iter("testcase"):
        if test.get("status") == "notrun":
            continue  # left out by a filter
        counts[1 if test.find("failure") is not None else 2 if test.get("result") == "skipped" else 0] += 1
    return counts


def count_ctest(junit, gtest_folder):
    total = [0, 0, 0]
    for program in xml.etree.ElementTree.parse(junit).iter("testcase"):
        # One that was run again has written another file.
        written = [path for path in gtest_folder.glob(f"{program.get('name')}_test*.xml") if re.fullmatch(r".*_test(_\d+)?", path.stem)]
        result = max(written, key=lambda path: path.stat().st_mtime_ns, default=gtest_folder / "none")
        failed = program.get("status") == "fail"
        if result.is_file():
            counts = count_gtest(result)
            counts[1] += 1 if failed and counts[1] == 0 else 0
        elif program.get("status") in ("notrun", "disabled"):
            counts = [0, 1, 0]
        else:
            counts = [0, 1, 0] if failed else [1, 0, 0]
        total = [a + b for a, b in zip(total, counts)]
    return total


def count_unittest(log):
    ran = sum(int(n) for n in re.findall(r"^Ran (\d+) tests?", log, re.MULTILINE))
    failed = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", log))
    skipped = sum(int(n) for n in re.findall(r"skipped=(\d+)", log))
    return [ran - failed - skipped, failed, skipped]


def passed_second(log):
    """Names of programs that a log of ctest shows failing first and passing then."""
    tries = re.findall(r"Test +#\d+: (\S+) \.*(\*\*\*|   )", log)
    failed = {name for name, mark in tries if mark == "***"}
    return sorted(failed & {name for name, mark in tries if mark != "***"})


def count_lines(text):
    return [sum(int(line[i]) for line in LINE.findall(text)) for i in range(3)]


def main():
    kind, *rest = sys.argv[1:] or ["help"]
    if kind == "ctest" and len(rest) == 2:
        counts = count_ctest(rest[0], pathlib.Path(rest[1]))
    elif kind == "unittest" and len(rest) == 1:
        counts = count_unittest(pathlib.Path(rest[0]).read_text())
    elif kind == "second" and len(rest) == 1:
        print(*(f"{name}\n" for name in passed_second(pathlib.Path(rest[0]).read_text())), sep="", end="")
        return 0
    elif kind == "sum":
        counts = count_lines(sys.stdin.read())
    else:
        print(__doc__, file=sys.stderr)
        return 3
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
