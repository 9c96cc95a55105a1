#!/usr/bin/env python3
"""The flame graph of a route: its two methods must have the shares of CPU time that the sample gives them, within three standard errors.

    check_request_flame.py FLAME.json SHARE METHOD…     SHARE: of the first method among all METHODs
"""
import json
import math
import sys


def main():
    flame, share, methods = json.load(open(sys.argv[1])), float(sys.argv[2]), sys.argv[3:]
    names, parents = flame["nodeName"], flame["nodeParent"]
    samples = dict.fromkeys(methods, 0)
    for node, count in zip(flame["rowNode"], flame["rowSamples"]):
        while node:
            name = flame["names"][names[node]].split("(")[0]
            if name in samples:
                samples[name] += count
                break
            node = parents[node]
    route, found = flame["route"], sum(samples.values())
    wrong = []
    if route["samples"] != flame["samples"] or sum(flame["rowSamples"]) != flame["samples"]:
        wrong.append(f"samples differ: {route}, {flame['samples']}, {sum(flame['rowSamples'])}")
    if sum(flame["rowOffUs"]) != 0 or flame["waits"] != 0:
        wrong.append("a graph of CPU time has waits")
    # The route does nothing else: routing and writing the answer is small beside it.
    if found < 200 or found < 0.9 * flame["samples"]:
        wrong.append(f"{found} of {flame['samples']} samples in the two methods")
    error = math.sqrt(share * (1 - share) / max(found, 1))
    seen = samples[methods[0]] / max(found, 1)
    if abs(seen - share) > 3 * error:
        wrong.append(f"{methods[0]} has {seen:.3f}, not {share} ± {3 * error:.3f}")
    for line in wrong:
        print(line)
    print(f"{found} of {flame['samples']} samples, share {seen:.3f} ± {error:.3f}, {route['otherRoutes']} in other routes, {route['outside']} outside, {len(wrong)} wrong")


main()
