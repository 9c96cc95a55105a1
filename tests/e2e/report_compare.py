#!/usr/bin/env python3
"""Holds `clrscope report --json` against the oracle on one trace, number for number.

  report_compare.py CLRSCOPE ORACLE TRACE events|topn|gc …

Prints each difference; exit code 1 when there is one.
"""
import json
import subprocess
import sys

SAME_MS = 0.002  # TraceEvent keeps times as milliseconds in a double


def answer(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)


def differences(ours, theirs):
    return [f"{key}: ours {ours.get(key)}, TraceEvent {theirs.get(key)}"
            for key in sorted(set(ours) | set(theirs)) if ours.get(key) != theirs.get(key)]


def events(clrscope, oracle, trace):
    ours, theirs = answer(clrscope, "report", trace, "events", "--json"), answer(oracle, "summary", trace)
    yield from differences({k: ours[k] for k in ("events", "lost")}, {k: theirs[k] for k in ("events", "lost")})
    counts = {}
    for one in theirs["byEvent"]:
        key = (one["provider"], one["name"])
        counts[key] = counts.get(key, 0) + one["count"]
    mine = {(one["provider"], one["name"]): one["count"] for one in ours["byEvent"]}
    # Events that TraceEvent has no name for ("EventID(200)") may have one here.
    nameless = sum(count for (_, name), count in counts.items() if name.startswith("EventID("))
    counts = {key: count for key, count in counts.items() if not key[1].startswith("EventID(")}
    extra = {key: count for key, count in mine.items() if key not in counts}
    if sum(extra.values()) != nameless:
        yield f"kinds that TraceEvent does not know: {extra}"
    yield from differences({k: v for k, v in mine.items() if k in counts}, counts)


def by_method(methods):
    """Samples by name without arguments, which the two spell differently: overloads are added up."""
    sums = {}
    for one in methods:
        name = one["method"].split("(")[0]
        self_samples, total = sums.get("" if name == "?" else name, (0, 0))
        sums["" if name == "?" else name] = (self_samples + one["selfSamples"], total + one["totalSamples"])
    return sums


def topn(clrscope, oracle, trace):
    ours, theirs = answer(clrscope, "report", trace, "topn", "--json"), answer(oracle, "tracelog", trace)
    if ours["samples"] == 0:
        yield "no samples to compare"
    yield from differences({"samples": ours["samples"]}, {"samples": theirs["samples"]})
    yield from differences(by_method(ours["methods"]), by_method(theirs["methods"]))


def gc(clrscope, oracle, trace):
    report = answer(clrscope, "report", trace, "gc", "--json")
    ours = {one["number"]: one for one in report["collections"]}
    # It counts the restart as part of a pause; we tell it beside.
    for one in report["collections"]:
        if one["pauseMs"] is not None and one["longestPauseMs"] > one["pauseMs"] + SAME_MS:
            yield f"#{one['number']}: the longest pause is {one['longestPauseMs']}, all of them {one['pauseMs']}"
    pauses = sum(one["pauseMs"] or 0 for one in report["collections"])
    if abs(report["totalPauseMs"] - pauses) > SAME_MS:
        yield f"totalPauseMs is {report['totalPauseMs']}, those of the collections are {pauses}"
    theirs = {one["number"]: one for p in answer(oracle, "gc", trace)["processes"] for one in p["collections"]}
    if not ours:
        yield "no collections to compare"
    yield from differences(dict.fromkeys(ours, True), dict.fromkeys(theirs, True))
    for number in sorted(set(ours) & set(theirs)):
        mine, other = ours[number], theirs[number]
        keys = ["generation", "reason", "type", "heapAfter"]
        heap = {k: mine.get("heapAfter", {}).get(k) for k in other["heapAfter"]} if "heapAfter" in other else None
        yield from (f"#{number} {text}" for text in differences(
            {**{k: mine[k] for k in keys[:3]}, "heapAfter": heap}, {k: other.get(k) for k in keys}))
        # Its figure for a background collection leaves out the first pause: not compared.
        times = ["durationMs"] + (["pauseMs"] if mine["type"] != "BackgroundGC" else [])
        mine = {**mine, "pauseMs": None if mine["pauseMs"] is None else mine["pauseMs"] + mine["restartMs"]}
        yield from (f"#{number} {k}: ours {mine[k]}, TraceEvent {other[k]}" for k in times
                    if other["complete"] and abs(mine[k] - other[k]) > SAME_MS)


def main():
    clrscope, oracle, trace, *reports = sys.argv[1:]
    compare = {"events": events, "topn": topn, "gc": gc}
    failed = False
    for report in reports:
        for difference in compare[report](clrscope, oracle, trace):
            failed = True
            print(f"{report}: {difference}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
