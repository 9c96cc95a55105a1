"""How far the shares of three methods are from 60, 30 and 10 %, in standard errors of a recording whose samples have different weights.
  check_split.py FILE SIXTY THIRTY TEN, the time of the methods themselves in any unit; clrscope must be in PATH. Prints JSON."""
import json
import math
import subprocess
import sys

file, *times = sys.argv[1:]
times = [float(one) for one in times]
weights = []
lines = subprocess.run(["clrscope", "convert", file, "--format", "ndjson", "-o", "-"], check=True, stdout=subprocess.PIPE, text=True).stdout
for line in lines.splitlines():
    event = json.loads(line)
    if event["name"] == "cpu":
        weights.append(int(event["payload"]["Period"], 16))
# As many samples of one weight would be as precise.
effective = sum(weights) ** 2 / sum(one * one for one in weights)


def off(time, true):
    share = time / sum(times)
    return {"percent": 100 * share, "standardErrors": abs(share - true) / math.sqrt(true * (1 - true) / effective)}


print(json.dumps({"samples": len(weights), "effective": effective, "sixty": off(times[0], 0.6), "ten": off(times[2], 0.1)}))
