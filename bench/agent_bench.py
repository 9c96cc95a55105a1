"""What the agent costs: attaching, one record, one exception with its stack, one snapshot of 200 threads, its memory."""
import json
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
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


def call_ns(process, count):
    """The fastest of the next blocks of calls; the first ones are those of code that is still being compiled."""
    values = [json.loads(process.stdout.readline())["nsPerCall"] for _ in range(count)]
    return min(values[count // 2:])


def measure_probes(kit, target):
    """What enter and leave cost in the code of a very short method: closed, on, and after they were taken out again."""
    process, ready = kit.sample("probes", "--loop", target=target)
    blocks = 40 if kit.quick else 100
    call_ns(process, blocks * 3)  # until its own code has been optimised
    plain = call_ns(process, blocks)
    words = [str(kit.clrscope), "agent", "methods", "-p", str(process.pid), "--include", ready["truth"]["method"], "--accessors",
             "--method-budget", "0", "--duration", "600s", "--json"]
    costs = []
    for extra in (["--closed"], []):
        asked = subprocess.Popen([*words, *extra], stdout=subprocess.DEVNULL, env=kit.env)
        kit.started.append(asked)
        while "methods" not in json.loads(subprocess.run([str(kit.clrscope), "agent", "status", "-p", str(process.pid), "--json"],
                                                         capture_output=True, text=True, env=kit.env).stdout)[0]["sources"]:
            process.stdout.readline()
        costs.append(call_ns(process, blocks) - plain)
        asked.send_signal(signal.SIGINT)
        asked.wait(timeout=60)
    after = call_ns(process, blocks)
    kit.end_sample(process)
    return [Row(f"agent: probes in a method, closed, {target}", "ns", costs[0], 1),
            Row(f"agent: probes in a method, counting, {target}", "ns", costs[1], 25),
            Row(f"agent: the same method after its probes were taken out, {target}", "% slower", 100 * (after / plain - 1), None)]


def lost_work(kit):
    """CPU sampling inside the process beside the runtime's sampler: work that one busy thread loses, each compared with the moments right before
    and after. By the CPU time of the thread, so that other programs matter little."""
    worker = kit.worker("--work")
    seconds = 1 if kit.quick else 3
    lost = {"agent": [], "runtime": []}
    told = []  # what clrscope itself says that the agent took
    for _ in range(1 if kit.quick else 8):
        before = worker.rates(seconds)
        for sampler, losses in lost.items():
            out = kit.tmp / f"{sampler}.nettrace"
            recorder = subprocess.Popen([str(kit.clrscope), "collect", "-p", str(worker.process.pid), "--profile", "cpu-sampling", "--sampler", sampler, "-o", str(out)],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=kit.env,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            kit.started.append(recorder)
            for line in recorder.stderr:
                if "Recording" in line:
                    break
            recorded = worker.rates(seconds)
            recorder.send_signal(signal.SIGINT)
            told += re.findall(r"([\d.]+) % of their CPU time", recorder.communicate(timeout=60)[1])
            time.sleep(0.3)
            after = worker.rates(seconds)
            losses.append(100 * (1 - 2 * recorded[1] / (before[1] + after[1])))
            before = after
    worker.process.kill()
    return [Row("agent: work lost to CPU sampling in the process at the kernel's tick", "%", median(lost["agent"]), 2, median(lost["runtime"]), "the runtime's sampler"),
            Row("agent: time in its CPU timers' handler, of the CPU time", "%", median([float(one) for one in told]), 2)]


def requests_per_second(url, seconds):
    out = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", url], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])


def idle_loss(kit, ask):
    """Requests that an ASP.NET application loses while the agent is in it and nobody listens: each time with the agent is compared with the times
    without it right before and after."""
    if not shutil.which("wrk"):
        raise RuntimeError("wrk is missing: apt-get install wrk")
    process, ready = kit.sample("web", "--no-logging")
    pid, url = str(process.pid), ready["truth"]["address"].rstrip("/") + "/plaintext"
    rounds, seconds = (1, 1) if kit.quick else (40, 5) if kit.long else (16, 4)
    requests_per_second(url, 1 if kit.quick else 10)  # until its code is compiled for speed
    losses = []
    before = requests_per_second(url, seconds)
    for _ in range(rounds):
        ask("attach", "-p", pid)
        there = requests_per_second(url, seconds)
        ask("detach", "-p", pid)
        after = requests_per_second(url, seconds)
        losses.append(100 * (1 - 2 * there / (before + after)))
        before = after
    kit.end_sample(process)
    error = statistics.stdev(losses) / len(losses) ** 0.5 if len(losses) > 1 else 0
    print(f"bench/run: agent: requests lost to the idle agent: {min(losses):.2f} to {max(losses):.2f} % in {rounds} rounds, "
          f"mean {statistics.mean(losses):.2f} %, standard error {error:.2f}", file=sys.stderr)
    return [Row("agent: requests lost while it is attached and idle", "%", median(losses), 0.2)]


def thread_seconds(pid):
    """CPU time of each thread so far."""
    return {task.name: int((task / "schedstat").read_text().split()[0]) / 1e9 for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def idle_thread(kit, ask):
    """CPU time of the agent's own threads while nobody listens: those that came with it."""
    process, _ = kit.sample("idle")
    before = thread_seconds(process.pid)
    ask("attach", "-p", str(process.pid))
    time.sleep(1)  # what loading it took
    begun, start = thread_seconds(process.pid), time.monotonic()
    time.sleep(2 if kit.quick else 30)
    ended, seconds = thread_seconds(process.pid), time.monotonic() - start
    used = sum(spent - begun.get(thread, 0) for thread, spent in ended.items() if thread not in before)
    kit.end_sample(process)
    return [Row("agent: CPU of its threads, attached and idle", "%", 100 * used / seconds, 0.2)]


def object_price(kit, target):
    """Nanoseconds that an allocation takes without and with `agent objects`: CPU time of a long run less that of a short one, so that starting costs
    nothing."""
    program = str(pathlib.Path(kit.tool("publish_samples")) / target / "samples")
    short, long = (400, 2000) if kit.quick else (2000, 12000)  # rounds of 512 objects
    spent = {}
    for name, before in ("plain", []), ("counted", [kit.clrscope, "agent", "objects", "--json", "--"]):
        times = [min(kit.weigh(*before, program, "alloc", "--count", rounds, "--rate", 100000).cpu_seconds for _ in range(1 if kit.quick else 3))
                 for rounds in (short, long)]
        spent[name] = 1e9 * (times[1] - times[0]) / (512 * (long - short))
    return [Row(f"agent: an allocation, {target}, without `agent objects`", "ns", spent["plain"]),
            Row(f"agent: an allocation, {target}, with `agent objects`", "ns", spent["counted"])]


def run(kit):
    def ask(*words):
        done = subprocess.run([str(kit.clrscope), *words, "--json"], capture_output=True, text=True, env=kit.env)
        if done.returncode != 0:
            raise RuntimeError(f"clrscope {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    rows = idle_loss(kit, ask) + idle_thread(kit, ask) + lost_work(kit)
    for target in ("net10.0",) if kit.quick else ("net8.0", "net9.0", "net10.0"):
        rows += object_price(kit, target)
    program = pathlib.Path(kit.clrscope).parent / "agent_bench"
    lines = subprocess.run([str(program), "1" if kit.quick else "20"], check=True, capture_output=True, text=True).stdout.splitlines()
    of = {line.split()[0]: float(line.split()[1]) for line in lines}
    rows.append(Row("agent: ring record of 32 bytes", "ns", of["record"], 10))
    rows.append(Row("agent: name that is known", "ns", of["name"], None))
    rows.append(Row("agent: enter and leave probe without a runtime", "ns", of["probe"], 25))
    for target in ("net10.0",) if kit.quick else ("net8.0", "net9.0", "net10.0"):
        rows += measure_probes(kit, target)
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
