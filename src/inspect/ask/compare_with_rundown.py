#!/usr/bin/env python3
"""compare_with_rundown.py BIN PID TRACE.ndjson [READER]: what the reader says of every method's code, beside the runtime's own events.

Each method that the rundown at the end of a trace names is asked for at its first, its last and a middle byte: name, token and
start must be equal. Prints one JSON object; `different` has what is not."""
import json
import re
import subprocess
import sys

binaries, pid, trace = sys.argv[1:4]


def start_reader(*kind):
    return subprocess.Popen([f"{binaries}/ask_runtime", pid, *kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(questions, live):
    """One answer each; a few at a time, so that no pipe fills."""
    answers = []
    for at in range(0, len(questions), 64):
        part = questions[at:at + 64]
        live.stdin.write("".join(question + "\n" for question in part))
        live.stdin.flush()
        answers += [json.loads(live.stdout.readline()) for _ in part]
    return answers


reader = start_reader(*sys.argv[4:5])
methods, maps = [], []
for line in open(trace, encoding="utf-8"):
    event = json.loads(line)
    if event["name"] in ("Method/DCStopVerbose", "Method/LoadVerbose"):
        methods.append(event["payload"])
    if event["name"] == "Method/ILToNativeMapDCStop":
        maps.append(event["payload"])

different, kinds = [], {}
wanted = ask([f"named\t{m['MethodNamespace']}\t{m['MethodName']}\t{m['MethodSignature']}" for m in methods], reader)
places = []
for m in methods:
    start, size = int(m["MethodStartAddress"], 16), m["MethodSize"]
    places += [start, start + size // 2, start + size - 1]
answers = ask([f"method {place:#x}" for place in places], reader)
sizes = ruled = with_il = 0
for i, (m, name) in enumerate(zip(methods, wanted)):
    start = int(m["MethodStartAddress"], 16)
    kind = "dynamic" if "Dynamic" in m["MethodFlags"] else "jitted" if "Jitted" in m["MethodFlags"] else "readyToRun"
    kinds[kind] = kinds.get(kind, 0) + 1
    for answer, place in zip(answers[3 * i:3 * i + 3], places[3 * i:3 * i + 3]):
        token = 0 if kind == "dynamic" else m["MethodToken"]
        # Types that the events give by address only are a question mark there.
        pattern = re.escape(name).replace(re.escape("?"), ".*")
        if not re.fullmatch(pattern, answer.get("name", "")) or (answer["start"], answer["token"]) != (start, token):
            different.append({"at": place, "kind": kind, "wanted": name, "start": start, "token": token, "said": answer})
        sizes += answer.get("size") == m["MethodSize"]
        ruled += bool(answer.get("unwinds"))
        with_il += "il" in answer

# Where the events map an instruction to IL, the reader must map it to the same; of methods with one body only.
bodies, il_asked, il_different = {}, 0, []
for m in methods:
    if "Jitted" in m["MethodFlags"] and "Dynamic" not in m["MethodFlags"]:
        bodies.setdefault(m["MethodID"], []).append(m)
for one in maps:
    if len(body := bodies.get(one["MethodID"], [])) != 1:
        continue
    start, size = int(body[0]["MethodStartAddress"], 16), body[0]["MethodSize"]
    points = {}
    for il, native in zip(one["ILOffsets"], one["NativeOffsets"]):
        if il < 0xfffffffd and native < size:
            points[native] = il
    for (native, il), answer in zip(points.items(), ask([f"method {start + native:#x}" for native in points], reader)):
        il_asked += 1
        if answer.get("il") != il:
            il_different.append({"method": body[0]["MethodName"], "native": native, "wanted": il, "said": answer.get("il")})

# ReadyToRun code has no such events: there the runtime's own library is asked. What it says nothing of belongs to no IL.
both, library = [], start_reader("dac")
if len(sys.argv) == 4:
    ready = [m for m in methods if "Jitted" not in m["MethodFlags"] and "Dynamic" not in m["MethodFlags"]][:300]
    questions = [f"method {int(m['MethodStartAddress'], 16) + m['MethodSize'] * part // 4:#x}" for m in ready for part in range(4)]
    both = [(a, b) for a, b in zip(ask(questions, reader), ask(questions, library)) if b.get("il", 0xffffffff) < 0xfffffffd]
ready_different = [{"ours": a, "library": b} for a, b in both if a.get("il") != b["il"]]
for process in (reader, library):
    process.stdin.close()
    process.wait()
print(json.dumps({"methods": len(methods), "kinds": kinds, "asked": len(places), "equalSizes": sizes, "withRule": ruled,
                  "withIl": with_il, "maps": len(maps), "ilAsked": il_asked, "ilDifferent": len(il_different),
                  "ilWrong": sum(one["said"] is not None for one in il_different),
                  "readyIl": len(both), "readyIlDifferent": len(ready_different), "readyExamples": ready_different[:10],
                  "different": len(different), "examples": different[:20], "ilExamples": il_different[:20]}, indent=1))
