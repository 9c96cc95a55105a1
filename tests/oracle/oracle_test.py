#!/usr/bin/env python3
"""Holds the oracle against traces whose content is known byte by byte."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from tiny_trace import INT32, SHORT_TEXT, STRING, SYNC, VARUINT, TinyTrace, short_text, varuint

TOP = pathlib.Path(__file__).resolve().parents[2]
ORACLE = subprocess.run([TOP / "tools/publish_oracle"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def hello(number, word):
    return struct.pack("<i", number) + (word + "\0").encode("utf-16-le")


def greetings():
    """Two capture threads with one kind of event, not yet written to."""
    trace = TinyTrace()
    trace.threads((0, 0, 0), (1, 100, 101), (2, 100, 102))
    trace.metadata(1, "My-Source", 7, "Hello", [("n", INT32), ("s", STRING)])
    return trace


class OracleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="oracle-test-")
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "t.nettrace")

    def run_oracle(self, data, *args, code=0):
        pathlib.Path(self.file).write_bytes(data)
        done = subprocess.run([ORACLE, args[0], self.file, *args[1:]], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_tells_what_the_header_says(self):
        [summary] = self.run_oracle(greetings().finish(), "summary")
        self.assertEqual(summary["formatVersion"], 6)
        self.assertEqual(summary["startTime"], "2024-05-17T12:30:15.2500000Z")
        self.assertEqual((summary["syncTicks"], summary["ticksPerSecond"]), (SYNC, 1_000_000_000))
        self.assertEqual((summary["pointerSize"], summary["processors"]), (8, 4))
        self.assertEqual((summary["events"], summary["byEvent"]), (0, []))

    def test_counts_events_by_kind(self):
        trace = greetings()
        trace.events(1, (1, 1, 1, SYNC + 5, 0, hello(1, "a")), (1, 2, 1, SYNC + 1_500_000, 0, hello(2, "b")))
        [summary] = self.run_oracle(trace.finish(), "summary")
        self.assertEqual((summary["events"], summary["lost"], summary["durationMs"]), (2, 0, 1.5))
        self.assertEqual((summary["firstTicks"], summary["lastTicks"]), (SYNC + 5, SYNC + 1_500_000))
        self.assertEqual(summary["byEvent"],
                         [{"provider": "My-Source", "name": "Hello", "id": 7, "version": 0, "count": 2}])

    def test_counts_a_gap_in_the_sequence_as_lost(self):
        trace = greetings()
        trace.events(1, (1, 1, 1, SYNC + 5, 0, hello(1, "a")), (1, 4, 1, SYNC + 6, 0, hello(2, "b")))
        trace.sequence_point(SYNC + 7, (1, 9))
        [summary] = self.run_oracle(trace.finish(), "summary")
        self.assertEqual((summary["events"], summary["lost"]), (2, 2 + 5))

    def test_shows_every_part_of_an_event(self):
        trace = greetings()
        trace.stacks((0x7F0000001234, 0x10))
        trace.events(1, (1, 1, 2, SYNC + 123_456_789, 1, hello(-5, "grüß")))
        [event] = self.run_oracle(trace.finish(), "events", "--stacks", "--payload", "--values", "--bytes")
        self.assertEqual((event["provider"], event["id"], event["name"]), ("My-Source", 7, "Hello"))
        self.assertEqual((event["ticks"], event["timeMs"]), (SYNC + 123_456_789, 123.456789))
        self.assertEqual((event["processId"], event["threadId"]), (100, 102))
        self.assertEqual(event["stack"], ["0x7f0000001234", "0x10"])
        self.assertEqual(event["payload"], {"n": "-5", "s": "grüß"})
        self.assertEqual(event["values"], {"n": -5, "s": "grüß"})
        self.assertEqual(event["bytes"], hello(-5, "grüß").hex())

    def test_orders_the_events_of_all_threads_by_time(self):
        trace = greetings()
        trace.events(1, (1, 1, 1, SYNC + 10, 0, hello(1, "")), (1, 2, 1, SYNC + 30, 0, hello(3, "")))
        trace.events(2, (1, 1, 2, SYNC + 20, 0, hello(2, "")), (1, 2, 2, SYNC + 40, 0, hello(4, "")))
        events = self.run_oracle(trace.finish(), "events", "--values", "--limit", "3")
        self.assertEqual([e["values"]["n"] for e in events], [1, 2, 3])

    def test_names_the_frames_of_cpu_samples(self):
        [log] = self.run_oracle(sampled().finish(), "tracelog")
        self.assertEqual(log["samples"], 3)
        self.assertEqual({p["pid"]: p["cpuSamples"] for p in log["processes"] if p["cpuSamples"]}, {100: 2, 200: 1})
        self.assertEqual(sum(p["managedTotal"] for p in log["processes"]), log["frames"]["managedTotal"])
        self.assertEqual(log["frames"]["total"], 5)
        self.assertEqual(log["frames"]["named"], 4)
        methods = {m["method"]: (m["module"], m["selfSamples"], m["totalSamples"]) for m in log["methods"]}
        self.assertEqual(methods["work"], ("libapp.so", 2, 2))
        self.assertEqual(methods["main"], ("libapp.so", 0, 2))

    def test_tells_that_a_file_was_cut(self):
        trace = greetings()
        trace.events(1, (1, 1, 1, SYNC + 5, 0, hello(1, "a")))
        trace.sequence_point(SYNC + 6)
        trace.events(1, (1, 2, 1, SYNC + 7, 0, hello(2, "b")))
        [summary] = self.run_oracle(trace.finish()[:-20], "summary", code=2)
        self.assertEqual(summary["events"], 1)
        self.assertIn("end of stream", summary["error"])

    def test_refuses_an_unknown_option(self):
        self.run_oracle(greetings().finish(), "events", "--nonsense", code=3)


def sampled():
    """Two processes; two samples main > work, one in code that has no name."""
    trace = TinyTrace()
    trace.threads((0, 0, 0), (1, 100, 101), (2, 200, 201))
    system = "Universal.System"
    trace.metadata(1, system, 0, "ExistingProcess",
                   [("NamespaceId", VARUINT), ("Name", SHORT_TEXT), ("NamespaceName", SHORT_TEXT)])
    trace.metadata(2, system, 3, "ProcessMapping",
                   [("Id", VARUINT), ("StartAddress", VARUINT), ("EndAddress", VARUINT), ("FileOffset", VARUINT),
                    ("FileName", SHORT_TEXT), ("MetadataId", VARUINT)])
    trace.metadata(3, system, 4, "ProcessSymbol",
                   [("Id", VARUINT), ("MappingId", VARUINT), ("StartAddress", VARUINT), ("EndAddress", VARUINT),
                    ("Name", SHORT_TEXT)])
    trace.metadata(4, "Universal.Events", 1, "cpu", [("Value", VARUINT)])
    trace.stacks((0x400110, 0x400010), (0x500010,))
    mapping = b"".join(map(varuint, (1, 0x400000, 0x400FFF, 0))) + short_text("/opt/libapp.so") + varuint(0)

    def symbol(number, start, end, name):
        return b"".join(map(varuint, (number, 1, start, end))) + short_text(name)

    rows = [
        (1, 1, 0, varuint(100) + short_text("one") + short_text("one")),
        (1, 2, 0, varuint(200) + short_text("two") + short_text("two")),
        (2, 1, 0, mapping),
        (3, 1, 0, symbol(1, 0x400000, 0x4000FF, "main")),
        (3, 1, 0, symbol(2, 0x400100, 0x4001FF, "work")),
        (4, 1, 1, varuint(1)),
        (4, 1, 1, varuint(1)),
        (4, 2, 2, varuint(1)),
    ]
    trace.events(0, *((meta, i + 1, thread, SYNC + 1000 * (i + 1), stack, payload)
                      for i, (meta, thread, stack, payload) in enumerate(rows)))
    return trace


if __name__ == "__main__":
    unittest.main()
