#!/usr/bin/env python3
"""Fails unless the NDJSON of `samples flood` holds, for each process, its numbers without gap, double or disorder.

    check_numbers.py FILE [--processes N] [--each N] [--provider NAME]

With --each they count from 0 to N. With --provider other events of the file do not matter.
"""
import argparse
import collections
import json
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--each", type=int)
    parser.add_argument("--provider")
    options = parser.parse_args()
    seen = collections.defaultdict(list)
    with open(options.file) as lines:
        for line in lines:
            row = json.loads(line)
            if options.provider not in (None, row["provider"]):
                continue
            seen[row["pid"], row["payload"]["thread"]].append(int(row["payload"]["sequence"]))
    if not seen or options.processes not in (None, len(seen)):
        sys.exit(f"{options.file}: {len(seen)} processes, not {options.processes}")
    for who, numbers in seen.items():
        first = 0 if options.each else numbers[0]
        for at, number in enumerate(numbers):
            if number != first + at:
                sys.exit(f"{options.file}: {who}: event {at} is number {number}, not {first + at}")
        if options.each and len(numbers) != options.each:
            sys.exit(f"{options.file}: {who}: {len(numbers)} events, not {options.each}")


if __name__ == "__main__":
    main()
