"""The pages: how much there is to load, and how fast a flame graph of 200,000 nodes is drawn, in Chromium without a graphics card."""
import gzip
import json
import random
import re
import shutil
import subprocess

from kit import ROOT, Row

NODES = 200_000
BUNDLE_KB = 150
REDRAW_MS = 50
CONTENT_MS = 300
IDLE_MB, OPEN_MB = 30, 60
OPEN_CPU_PERCENT = 0.3
FRAME_MS = 16.8  # 60 a second


def run(kit):
    rows = [Row("web bundle, gzipped, without speedscope", "KB", bundle_bytes(kit) / 1024, BUNDLE_KB)]
    if not shutil.which("chromium"):
        print("web: Chromium is not installed: what it draws was not measured")
        return rows
    page = large_page(kit)
    out = subprocess.run([ROOT / "tests/web/open", "flame_redraw.mjs", page, "3" if kit.quick else "25"], check=True,
                         stdout=subprocess.PIPE, text=True, env=kit.env, timeout=180).stdout
    got = json.loads(out)
    if got["troubles"]:
        raise RuntimeError(f"the page had troubles: {got['troubles']}")
    for name in ["whole", "matched", "inverted"]:
        rows.append(Row(f"flame graph of {NODES:,} nodes, {name}, redraw", "ms", got[name]["median"], REDRAW_MS))
    rows.append(Row("the same, from file to first picture", "ms", got["openMs"]))
    for name in ["search", "invert", "hide"]:
        rows.append(Row(f"the same, {name}", "ms", got[f"{name}Ms"]))
    for path, took in first_paints(kit).items():
        rows.append(Row(f"first paint of {path}", "ms", took["paintMs"]))
        rows.append(Row(f"content of {path}", "ms", took["contentMs"], CONTENT_MS))
    return rows + open_pages(kit)


def open_pages(kit):
    """What an open page costs the controller, and how stacks of 200 threads scroll."""
    out = subprocess.run([ROOT / "tests/web/open", "page_open.mjs", "2" if kit.quick else "60"], check=True, stdout=subprocess.PIPE,
                         text=True, env=dict(kit.env, CLRSCOPE=kit.clrscope), timeout=400).stdout
    got = json.loads(out.strip().splitlines()[-1])
    return [
        Row("controller without a page, memory", "MB", got["idle"]["rssMb"], IDLE_MB),
        Row("controller with the overview open, memory", "MB", got["open"]["rssMb"], OPEN_MB),
        Row("the same, CPU", "%", got["open"]["cpuPercent"], OPEN_CPU_PERCENT),
        Row("scrolling stacks of 200 threads, median frame", "ms", got["medianMs"], FRAME_MS),
        Row("the same, 95th percentile", "ms", got["p95Ms"]),
    ]


def first_paints(kit):
    """The pages of the rail, of a real controller that looks at a real process."""
    out = subprocess.run([ROOT / "tests/web/open", "first_paint.mjs", "1" if kit.quick else "5"], check=True, stdout=subprocess.PIPE,
                         text=True, env=dict(kit.env, CLRSCOPE=kit.clrscope), timeout=300).stdout
    return json.loads(out.strip().splitlines()[-1])


def bundle_bytes(kit):
    """What a page loads: script, styles, icon. The viewer's file for `clrscope flame` is not among it."""
    site = kit.folder.parent / "web/site"
    return sum(len(gzip.compress((site / name).read_bytes(), 9)) for name in ["app.js", "style.css", "icon.svg"])


def large_page(kit):
    """The file that `clrscope flame` writes, with a made-up tree of 200,000 nodes in place of the small one."""
    small = kit.tmp / "small.html"
    subprocess.run([kit.clrscope, "flame", ROOT / "tests/data/flame/names.nettrace", "-o", small], check=True, stderr=subprocess.DEVNULL)
    page = re.sub(r'(id="data"[^>]*>).*?(</script>)', lambda match: match[1] + large_tree() + match[2], small.read_text(), count=1,
                  flags=re.DOTALL)
    large = kit.tmp / "large.html"
    large.write_text(page)
    return str(large)


def large_tree():
    """Level by level, as the server writes it: a few heavy paths, a long tail, 60 levels, eight threads."""
    dice = random.Random(8)
    names = ["all"] + [f"Shop.Area{i % 40}.Type{i % 900}.Method{i}(System.Int32)" for i in range(1, 8000)]
    kinds = [0] + [dice.choice([1, 1, 1, 2, 2, 2, 4, 5, 6, 7, 8]) for _ in names[1:]]
    node_name, node_parent, level = [0], [0], [0]
    while len(node_name) < NODES:
        below = []
        for parent in level:
            for _ in range(dice.choice([0, 1, 1, 2, 3]) if len(node_name) > 50 else 8):
                if len(node_name) == NODES:
                    break
                below.append(len(node_name))
                node_name.append(dice.randrange(1, len(names)))
                node_parent.append(parent)
        if len(below) > 4500:  # wide enough: go deeper with as many
            below = sorted(dice.sample(below, 2800))
        level = below or [0]
    rows = range(1, NODES)
    weights = [int(dice.paretovariate(1.1) * 100) for _ in rows]
    return json.dumps({
        "version": 1, "title": "large", "startTime": "2026-01-01T00:00:00Z", "onFrom": "kernel", "offFrom": "kernel", "durationMs": 10000,
        "samples": NODES, "waits": 0, "withoutStack": 0, "idle": 0, "folded": 0, "lost": 0, "modules": ["", "Shop"], "names": names,
        "nameModule": [1] * len(names), "nameKind": kinds, "processes": [{"pid": 1, "name": "Shop"}], "threadProcess": [0] * 8,
        "threadId": list(range(8)), "threadName": [""] * 8, "nodeName": node_name, "nodeParent": node_parent, "rowNode": list(rows),
        "rowThread": [node % 8 for node in rows], "rowSamples": [1] * (NODES - 1), "rowOnUs": weights, "rowOffUs": [0] * (NODES - 1),
    }, separators=(",", ":"))
