"""What the agent costs: attaching, one record, one exception with its stack, one snapshot of 200 threads, its memory."""
import json
import pathlib
import subprocess
import time

from kit import Row, median


def rss_kib(pid):
    """Memory of the process, with pages it shares with nobody counted once."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise RuntimeError(f"no Pss for {pid}")


def settled_kib(pid, quick):
    """Its memory once it has stopped growing by itself."""
    last = rss_kib(pid)
    for _ in range(1 if quick else 30):
        time.sleep(1)
        now = rss_kib(pid)
        if abs(now - last) < 100:
            return now
        last = now
    return last


def run(kit):
    def ask(*words):
        done = subprocess.run([str(kit.clrscope), *words, "--json"], capture_output=True, text=True, env=kit.env)
        if done.returncode != 0:
            raise RuntimeError(f"clrscope {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    rows = []
    program = pathlib.Path(kit.clrscope).parent / "agent_bench"
    lines = subprocess.run([str(program), "1" if kit.quick else "20"], check=True, capture_output=True, text=True).stdout.splitlines()
    of = {line.split()[0]: float(line.split()[1]) for line in lines}
    rows.append(Row("agent: ring record of 32 bytes", "ns", of["record"], 10))
    rows.append(Row("agent: name that is known", "ns", of["name"], None))
    for target in ("net10.0",) if kit.quick else ("net8.0", "net9.0", "net10.0"):
        process, _ = kit.sample("exceptions", "--rate", "2000", target=target)
        pid = str(process.pid)
        before = settled_kib(pid, kit.quick)
        attach, detach = [], []
        for _ in range(1 if kit.quick else 15):
            attach.append(ask("attach", "-p", pid)["tookMs"])
            detach.append(ask("detach", "-p", pid)["tookMs"])
        rows.append(Row(f"agent: attach, {target}", "ms", median(attach), 100))
        rows.append(Row(f"agent: detach, {target}", "ms", median(detach), None))
        ask("attach", "-p", pid)
        seen = ask("agent", "exceptions", "-p", pid, "--duration", "500ms" if kit.quick else "5s")
        rows.append(Row(f"agent: exception with stack, throw and catch, {target}", "us", seen["callbackMs"] * 1000 / max(1, seen["exceptions"]), 6))
        rows.append(Row(f"agent: memory, listening included, {target}", "MB", max(0, rss_kib(pid) - before) / 1024, 16))
        kit.end_sample(process)

        process, _ = kit.sample("threads", "200", target=target)
        pid = str(process.pid)
        ask("attach", "-p", pid)
        pauses = [ask("agent", "stacks", "-p", pid)["pauseMs"] for _ in range(1 if kit.quick else 15)]
        rows.append(Row(f"agent: pause for the stacks of 200 threads, {target}", "ms", median(pauses), None if target == "net8.0" else 2))
        kit.end_sample(process)
    return rows
