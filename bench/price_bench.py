"""What one event of the runtime costs the program, its stack included: an exception thrown and caught, few and many frames deep, while nobody
listens and while a session does. The recorder's estimate of what its events cost a program (collect/machine/runtime_source.cpp) rests on it.
"""
import statistics
import subprocess

from kit import Row

FRAMES = (1, 60)


def microseconds(worker, seconds):
    return 1e6 / worker.rates(seconds)[1]


def one(kit, frames, rounds, seconds):
    """Microseconds of CPU more for each exception, the median of all rounds."""
    worker = kit.worker("--throw", str(frames))
    more = []
    for _ in range(rounds):
        before = microseconds(worker, seconds)
        recorder = subprocess.Popen([kit.clrscope, "collect", "-p", str(worker.process.pid), "--providers", "Microsoft-Windows-DotNETRuntime:0x8000:2",
                                     "--rundown", "false", "--duration", f"{seconds + 2}s", "-o", str(kit.tmp / "price.nettrace")],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=kit.env)
        kit.started.append(recorder)
        for line in recorder.stderr:
            if "Recording" in line:
                break
        more.append(microseconds(worker, seconds) - before)
        recorder.communicate(timeout=60)
    worker.process.kill()
    return statistics.median(more)


def run(kit):
    rounds, seconds = (1, 1) if kit.quick else (5, 3)
    few, many = (one(kit, frames, rounds, seconds) for frames in FRAMES)
    return [
        Row(f"an exception's event, {FRAMES[0]} frame more than Main and two others", "µs", few),
        Row(f"the same, {FRAMES[1]} frames more", "µs", many),
        Row("each frame", "µs", (many - few) / (FRAMES[1] - FRAMES[0])),
    ]
