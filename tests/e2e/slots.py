"""How many cases run at a time: `jobs` always, and up to `spare` more while a processor is idle.

Most cases wait for a program to do something. Where the processors are busy, be it with the cases or with something
else, no more than `jobs` run.
"""
import os
import time

WINDOW = 1.0  # seconds that are looked at: what the case before needs must show
IDLE = 0.9  # processors that must have been idle


def idle_seconds():
    """Seconds that the processors we may use have been idle since the machine started, all together."""
    with open("/proc/stat", encoding="ascii") as stat:
        lines = [line.split() for line in stat if line.startswith("cpu") and line[3].isdigit()]
    mine = os.sched_getaffinity(0)
    return sum(int(fields[4]) for fields in lines if int(fields[0][3:]) in mine) / os.sysconf("SC_CLK_TCK")


class Slots:
    def __init__(self, jobs, spare, idle=idle_seconds, clock=time.monotonic):
        self.jobs, self.spare, self.idle, self.clock = max(1, jobs), spare, idle, clock
        self.began, self.idle_then = clock(), idle()

    def free(self, running):
        """Whether one more may start now."""
        if running < self.jobs:
            self.look()
            return True
        passed = self.clock() - self.began
        if running >= self.jobs + self.spare or passed < WINDOW:
            return False
        idle = (self.idle() - self.idle_then) / passed
        self.look()
        return idle >= IDLE

    def look(self):
        self.began, self.idle_then = self.clock(), self.idle()
