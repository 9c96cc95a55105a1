"""What recording the machine takes where many large programs begin and end: peak memory, own CPU, samples lost, whole stacks.

Twenty compilers work on our own sources without a cache, and between them runs our own large program.
"""
import json
import os
import shutil
import subprocess
import sys
import threading
import time

from kit import ROOT, Row


class Compilers:
    def __init__(self, kit, count):
        self.env = dict(kit.env, CCACHE_DISABLE="1")
        self.program = [kit.clrscope, "ps"]
        self.over = threading.Event()
        rooms = ("unwind", "symbols", "nettrace")
        sources = [path for room in rooms for path in sorted((ROOT / "src" / room).glob("*.cpp")) if not path.stem.endswith("_test")]
        self.threads = [threading.Thread(target=self.work, args=(sources[at::count],), daemon=True) for at in range(count)]
        for one in self.threads:
            one.start()

    def work(self, sources):
        while not self.over.is_set():
            for source in sources:
                self.run(["c++", "-std=c++20", "-O2", "-g1", f"-I{ROOT / 'src'}", "-c", str(source), "-o", "/dev/null"])
                self.run(self.program)

    def run(self, command):
        if not self.over.is_set():
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env, check=False)

    def end(self):
        self.over.set()
        for one in self.threads:
            one.join()


def run(kit):
    if os.getuid() != 0 or not shutil.which("c++"):
        print("bench/run: compilers: the whole machine beside compilers needs root and a compiler: not measured", file=sys.stderr)
        return []
    count, seconds = (2, 4) if kit.quick else (20, 600) if kit.long else (20, 60)
    path = kit.tmp / "compilers.nettrace"
    compilers = Compilers(kit, count)
    time.sleep(2)
    weight = kit.weigh(kit.clrscope, "collect", "-a", "--duration", f"{seconds}s", "-o", path, "--json")
    compilers.end()
    if weight.code != 0:
        raise RuntimeError(f"collect -a ended with {weight.code}: {weight.err.strip()[-300:]}")
    told = json.loads(weight.out)
    whole = 100 * (1 - told["brokenStacks"] / max(told["samples"] + told.get("waits", 0), 1))
    beside = f"collect -a beside {count} compilers"
    return [
        Row(f"{beside} for {seconds} s, peak memory", "MB", weight.rss_mb, 100),
        Row(f"{beside}, own CPU", "%", 100 * weight.cpu_seconds / seconds),
        Row(f"{beside}, lost of {told['samples']:,} samples", "", told["lost"], 0),
        Row(f"{beside}, whole stacks", "%", whole, larger_is_better=True),
    ]
