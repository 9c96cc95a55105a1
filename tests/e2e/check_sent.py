#!/usr/bin/env python3
"""Fails unless the peers of odd_peer.py got what they should.

    check_sent.py peers FOLDER             each value of samples.connections in truth.ndjson: once and in order by those who read;
                                           perhaps twice, but each, by the one that reset; the first of them by the slow one. Values
                                           after the last of the truth are well: that sink ended first
    check_sent.py statsd FOLDER THREADS N  counts and amounts of `samples flood` with so many threads of N events each
"""
import collections
import datetime
import json
import sys


def truth(folder):
    seconds = []
    for line in open(f"{folder}/truth.ndjson"):
        row = json.loads(line)
        if row["name"] == "samples.connections":
            seconds.append(int(datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()))
    return seconds


def told(folder, mood):
    """The seconds of its lines about samples.connections; all say 17."""
    rows = [line.split() for line in open(f"{folder}/{mood}.txt") if ".samples.samples.connections " in line]
    if odd := [row for row in rows if len(row) != 3 or float(row[1]) != 17]:
        sys.exit(f"{mood}: {odd}")
    return [int(row[2]) for row in rows]


def once(seconds):
    return list(dict.fromkeys(seconds))


def peers(folder):
    expected = truth(folder)
    if len(expected) < 3:
        sys.exit(f"too few values: {expected}")
    for mood in ("plain", "garbage", "pickle"):
        if told(folder, mood)[:len(expected)] != expected:
            sys.exit(f"{mood}: {told(folder, mood)}, not {expected}")
    if once(told(folder, "reset"))[:len(once(expected))] != once(expected):
        sys.exit(f"reset: {told(folder, 'reset')}, not {expected}")
    slow = told(folder, "slow")
    common = min(len(slow), len(expected))
    if slow[:common] != expected[:common]:
        sys.exit(f"slow: {slow}, not a beginning of {expected}")


def statsd(folder, threads, each):
    grown, most = collections.Counter(), 0
    for line in open(f"{folder}/udp.txt"):
        length, text = line.split()
        if int(length) > 1400:
            sys.exit(f"a datagram of {length} bytes")
        name, value, kind = text.replace("|", ":").split(":")
        if kind == "c":
            grown[name] += float(value)
        if name.endswith(".sequence.max"):
            most = max(most, float(value))
    base = "t.samples.clrscope_samples_flood.drop"
    expected = {base: threads * each, f"{base}.sequence.count": threads * each, f"{base}.sequence.sum": threads * sum(range(each))}
    if dict(grown) != expected or most != each - 1:
        sys.exit(f"{dict(grown)}, at most {most}; not {expected}, {each - 1}")


if __name__ == "__main__":
    if sys.argv[1] == "peers":
        peers(sys.argv[2])
    else:
        statsd(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
