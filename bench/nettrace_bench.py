"""Reading traces: our reader on one core, and TraceEvent on the same file."""
from kit import ROOT, Row

TRACES = {
    "small events (19 bytes each)": "net10-loss.nettrace.zst",
    "GC events and samples": "net10-v4.nettrace",
}


def numbers(out):
    return {name: float(value) for name, value, _ in (line.split() for line in out.splitlines())}


def run(kit):
    rows = []
    for what, name in TRACES.items():
        large = kit.tmp / "large.nettrace"
        bench = kit.weigh(kit.folder / "nettrace_bench", ROOT / "tests/data/nettrace" / name, 16 if kit.quick else 512, large)
        if bench.code != 0:
            raise RuntimeError(bench.err.strip())
        ours = numbers(bench.out)
        oracle = kit.weigh(kit.tool("publish_oracle"), "summary", large)
        if oracle.code != 0:
            raise RuntimeError(oracle.err.strip() or oracle.out[-300:])
        report = kit.repeat(3, kit.clrscope, "report", large, "events", "--json")
        rate = lambda weight: ours["size"] / max(0.01, min(weight.seconds, weight.cpu_seconds))  # whole commands; 0.01 s is what time tells apart
        rows += [
            Row(f"count events, whole command, {what}", "MB/s", rate(report), 10 * rate(oracle), rate(oracle), "TraceEvent", True),
            Row(f"count events, {what}", "MB/s", ours["count"], 1000, None, "", True),
            Row(f"count events in pieces of 64 KB, {what}", "MB/s", ours["count_in_pieces"], 1000, None, "", True),
            Row(f"decode every field, {what}", "MB/s", ours["decode"], 450, None, "", True),
            Row(f"payloads as JSON, {what}", "M events/s", ours["json_events"], 1, None, "", True),
            Row(f"count frames of stacks, {what}", "MB/s", ours["count_frames"], larger_is_better=True),
            Row(f"count events of version 6, {what}", "MB/s", ours["count_v6"], 1000, None, "", True),
            Row(f"convert to version 6, {what}", "MB/s", ours["convert"], larger_is_better=True),
        ]
        large.unlink()
    return rows
