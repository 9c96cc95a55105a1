"""Tests of how many cases run at a time, with a clock and processors of their own."""
import unittest

import slots
from slots import Slots


class Machine:
    """Two processors, of which some are idle."""

    def __init__(self):
        self.now, self.idle = 100.0, 0.0

    def passes(self, seconds, idle):
        self.now += seconds
        self.idle += seconds * idle


class SlotsTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.slots = Slots(2, 1, idle=lambda: self.machine.idle, clock=lambda: self.machine.now)

    def test_the_jobs_start_at_once_on_a_busy_machine(self):
        self.assertTrue(self.slots.free(0))
        self.assertTrue(self.slots.free(1))

    def test_one_more_starts_when_a_processor_was_idle(self):
        self.machine.passes(1.5, idle=1.2)
        self.assertTrue(self.slots.free(2))

    def test_no_more_start_when_the_processors_are_busy(self):
        self.machine.passes(1.5, idle=0.3)
        self.assertFalse(self.slots.free(2))
        self.machine.passes(0.5, idle=2)  # not looked at for long enough
        self.assertFalse(self.slots.free(2))

    def test_what_has_just_started_must_show_first(self):
        self.machine.passes(5, idle=2)
        self.assertTrue(self.slots.free(1))
        self.assertFalse(self.slots.free(2))

    def test_there_are_never_more_than_jobs_and_spare(self):
        self.machine.passes(5, idle=2)
        self.assertFalse(self.slots.free(3))

    def test_the_real_processors_are_idle_now_and_then(self):
        self.assertGreaterEqual(slots.idle_seconds(), 0)


if __name__ == "__main__":
    unittest.main()
