#!/usr/bin/env python3
"""Whether async stacks are what the sample async-chains built: check_async.py STACKS.json TRUTH.json"""
import collections
import json
import sys


def main(answer_path, truth_path):
    with open(answer_path, encoding="utf-8") as file:
        answer = json.load(file)
    with open(truth_path, encoding="utf-8") as file:
        truth = json.load(file)
    wanted, seen = collections.Counter(), collections.Counter()
    for one in truth["stacks"]:
        wanted[(one["awaits"], *one["frames"])] += one["count"]
    for one in answer["groups"]:
        key = (one["wait"]["kind"], *(frame["method"] for frame in one["frames"]))
        if any("Symptoms.AsyncChains" in method for method in key):
            seen[key] += one["count"]
    for key in sorted((wanted - seen).keys() | (seen - wanted).keys()):
        print(f"{' < '.join(key)}: {wanted[key]} expected, {seen[key]} seen")
    blocked = truth["blocked"]["osId"]
    if not any(blocked in one.get("blockedThreads", []) for one in answer["groups"]):
        print(f"no stack says that thread {blocked} blocks on it")
        return 1
    print(f"{sum(seen.values())} stacks")
    return 0 if seen == wanted else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
