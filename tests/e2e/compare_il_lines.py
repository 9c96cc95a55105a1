#!/usr/bin/env python3
"""compare_il_lines.py BIN PID EVENTS.json REPORT.json: the lines of a report beside what the runtime's own library says.

EVENTS is what the oracle printed of a recording with stacks; REPORT is `report cpu --lines --json` of it, made with PDBs in which
a line of System.Private.CoreLib is an IL offset plus one (oracle il-pdb). Each address of a managed frame is asked of the library in the living process; both
must name the same IL offsets of the same methods. Prints one JSON object."""
import json
import subprocess
import sys

MODULE = "/System.Private.CoreLib.dll"
binaries, pid, events, report = sys.argv[1:5]
addresses = set()
for line in open(events, encoding="utf-8"):
    event = json.loads(line)
    if event["provider"] == "Universal.Events" and str(event["processId"]) == pid:
        leaf = True
        for address in (int(text, 16) for text in event.get("stack", [])):
            if address < 1 << 47:
                addresses.add(address if leaf else address - 1)  # the kernel's callers stand where the leaf does
                leaf = False

library = subprocess.Popen([f"{binaries}/ask_runtime", pid, "dac"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
theirs, unsure = set(), set()
for address in addresses:
    library.stdin.write(f"method {address:#x}\n")
    library.stdin.flush()
    said = json.loads(library.stdout.readline())
    if not said.get("module", "").endswith(MODULE):
        continue
    if said.get("il", 0xffffffff) < 0xfffffffd:
        theirs.add((said["name"], said["il"]))
    else:  # code of no IL: a report counts it to what comes before it
        unsure.add(said["name"])
library.stdin.close()
library.wait()

ours = {(one["method"], one["line"] - 1) for one in json.load(open(report, encoding="utf-8"))["methods"]
        if one.get("file", "").startswith("/il/")}
print(json.dumps({"addresses": len(addresses), "theirs": len(theirs), "ours": len(ours), "both": len(ours & theirs),
                  "onlyOurs": sorted(one for one in ours - theirs if one[0] not in unsure)[:20], "onlyTheirs": sorted(theirs - ours)[:20]}))
