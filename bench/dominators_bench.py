"""Dominators, paths and histogram of a made-up heap: 5 million objects with two references each."""
from kit import Row


def run(kit):
    objects = 200_000 if kit.quick else 5_000_000
    bench = kit.weigh(kit.folder / "dominators_bench", objects)
    if bench.code != 0:
        raise RuntimeError(bench.err.strip())
    seen = {name: float(value) for name, value, _ in (line.split() for line in bench.out.splitlines())}
    what = f"{objects / 1e6:g} M objects"
    return [
        Row(f"heap histogram, {what}", "ms", seen["histogram"], 1000),
        Row(f"heap dominators, {what}", "ms", seen["dominators"], 3000),
        Row(f"heap dominators, memory with the heap, {what}", "bytes/object", seen["dominators_bytes"], 60),
        Row(f"heap answer, {what}", "ms", seen["answer"]),
        Row(f"heap paths from the roots, {what}", "ms", seen["paths"]),
        Row(f"objects of a type and their paths, {what}", "ms", seen["type"]),
    ]
