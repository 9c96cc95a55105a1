#!/usr/bin/env python3
"""Holds the sample patient to its word: every symptom on every runtime is established, true and ends when told to."""

import concurrent.futures
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[1]
SAMPLES = pathlib.Path(
    subprocess.run([TOP / "tools/publish_samples"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
RUNTIMES = ["net8.0", "net9.0", "net10.0"]
PATIENCE = 60  # seconds; a busy machine is slow, a hanging sample is a failure


class Patient:
    """One running sample. Leaves no process behind."""

    def __init__(self, runtime, *args):
        self.process = subprocess.Popen([SAMPLES / runtime / "samples", *map(str, args)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ready(self):
        line = json.loads(self.process.stdout.readline())
        assert line["ready"] and line["pid"] == self.process.pid, line
        return line["truth"]

    def end(self):
        """Exit code, and the done line's truth if there is one."""
        out, self.errors = self.process.communicate(timeout=PATIENCE)
        lines = [json.loads(line) for line in out.splitlines()]
        done = [line["truth"] for line in lines if line.get("done")]
        return self.process.returncode, done[-1] if done else None


def run(runtime, *args):
    """Truth at ready and at done of a run that ends by itself."""
    with Patient(runtime, *args) as patient:
        ready = patient.ready()
        code, done = patient.end()
        assert code == 0, patient.errors
        return ready, done


def tasks(pid):
    return {int(t.name): (t / "comm").read_text().strip() for t in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def symptoms():
    listed = subprocess.run([SAMPLES / "net10.0/samples", "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


class EverySymptom(unittest.TestCase):
    def test_is_established_and_ends_on_sigterm(self):
        cases = [(symptom, runtime) for symptom in symptoms() for runtime in RUNTIMES]
        cases.remove(("deadlock-lock", "net8.0"))
        no_handler = {"gc-hang": -signal.SIGTERM}  # nothing managed runs, so the signal ends it

        def life(case):
            symptom, runtime = case
            with Patient(runtime, symptom) as patient:
                patient.ready()
                patient.process.terminate()
                return case, patient.end()[0]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they mostly wait
            self.assertEqual(list(pool.map(life, cases)), [(case, no_handler.get(case[0], 0)) for case in cases])

    def test_is_in_the_catalog_and_in_the_documentation(self):
        catalog = (TOP / "samples/Catalog.cs").read_text()
        for file in (TOP / "samples/Symptoms").glob("*.cs"):
            if "public static void Run(Stage stage)" in file.read_text():
                self.assertIn(f"{file.stem}.Run)", catalog)
        table = (TOP / "docs/samples.md").read_text().partition("## Symptoms")[2]
        rows = re.findall(r"^\| `([a-z-]+)`", table, re.M)
        self.assertEqual(rows, symptoms())


class CommandLine(unittest.TestCase):
    def code(self, runtime, *args):
        with Patient(runtime, *args) as patient:
            return patient.end()[0]

    def test_wrong_arguments_exit_with_3(self):
        for args in (["no-such"], ["cpu", "--no-such"], ["idle", "5"], ["idle", "--seconds", "x"], ["flood", "--count"]):
            self.assertEqual(self.code("net10.0", *args), 3, args)

    def test_what_the_runtime_lacks_exits_with_4(self):
        self.assertEqual(self.code("net8.0", "deadlock-lock"), 4)

    def test_ends_with_its_input_and_the_wanted_exit_code(self):
        with Patient("net10.0", "idle", "--until-eof", "--exit-code", 7) as patient:
            patient.ready()
            self.assertEqual(patient.end()[0], 7)

    def test_holds_until_a_line_comes_and_stays_after_done(self):
        with Patient("net10.0", "gc", "--rounds", 1, "--wait-line", "--stay", "--until-eof") as patient:
            patient.ready()
            patient.process.stdin.write("\n")
            patient.process.stdin.flush()
            self.assertTrue(json.loads(patient.process.stdout.readline())["done"])
            self.assertIsNone(patient.process.poll())
            self.assertEqual(patient.end()[0], 0)


class Truth(unittest.TestCase):
    def each(self, *args):
        return (run(runtime, *args) for runtime in RUNTIMES)

    def test_cpu_time_is_split_60_30_10(self):
        for symptom in ("cpu", "cpu-short"):
            for ready, done in self.each(symptom, "--seconds", 1):
                for wanted, got in zip(ready["methods"], done["methods"]):
                    self.assertEqual(wanted["method"], got["method"])
                    self.assertAlmostEqual(wanted["percent"], got["percent"], delta=1)

    def test_the_heartbeat_answers_each_time_it_is_asked(self):
        for runtime in RUNTIMES:
            with Patient(runtime, "heartbeat") as patient:
                patient.ready()
                for asked in (1, 2, 3):
                    patient.process.send_signal(signal.SIGUSR1)
                    answer = json.loads(patient.process.stdout.readline())
                    self.assertEqual(answer["asked"], asked)
                    gaps = [gap["gapNs"] for gap in answer["gaps"]]
                    self.assertEqual(gaps, sorted(gaps, reverse=True))
                patient.process.terminate()
                code, done = patient.end()
                self.assertEqual((code, done["wrong"]), (0, 0))
                self.assertGreater(done["beats"], 0)

    def test_exceptions_are_counted_by_type(self):
        for _, done in self.each("exceptions", "--count", 40):
            self.assertEqual([t["count"] for t in done["types"]], [30, 10])
            self.assertEqual(done["firstChance"], 40)

    def test_allocations_are_counted_to_the_byte(self):
        for _, done in self.each("alloc", "--count", 100):
            counted = sum(t["bytes"] for t in done["types"])
            self.assertLess(abs(done["threadAllocatedBytes"] - counted), 1000)

    def test_most_acquisitions_are_contended(self):
        for _, done in self.each("contention", "--seconds", 1):
            self.assertGreater(done["contentions"], done["acquisitions"] / 2)

    def test_each_kind_of_wait_happens(self):
        for ready, done in self.each("waits", "--seconds", 1):
            self.assertEqual(ready["methods"]["lock"], "Samples.Symptoms.Waits.AtLock")
            for what in ("locked", "slept", "read", "signalled", "collected", "touched", "burned"):
                self.assertGreater(done[what], 0, what)

    def test_flood_writes_what_it_says(self):
        for _, done in self.each("flood", "--threads", 2, "--count", 1000):
            self.assertEqual([t["written"] for t in done["threads"]], [1000, 1000])

    def test_collections_are_counted(self):
        for _, done in self.each("gc", "--rounds", 2, "--interval-ms", 1):
            self.assertEqual(done["counted"]["all"], 14)
            self.assertGreater(done["pauseMs"], 0)

    def test_no_request_is_served_by_a_starved_pool(self):
        for _, done in self.each("pool-starvation", "--seconds", 1):
            self.assertEqual(done["served"], 0)
            self.assertGreater(done["probeDelayMs"], 900)

    def test_leaks_survive_a_collection(self):
        for symptom in ("leak-list", "leak-event", "leak-timer"):
            for ready, _ in self.each(symptom, "--seconds", 0):
                self.assertEqual(ready["aliveAfterGc"], ready["count"])

    def test_every_payload_type_can_be_written_while_someone_listens(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime):
                listener = {"DOTNET_EnableEventPipe": "1", "DOTNET_EventPipeOutputPath": "/dev/null",
                            "DOTNET_EventPipeConfig": "Clrscope-Samples:0xffffffffffffffff:5,"
                                                      "Clrscope-Samples-SelfDescribing:0xffffffffffffffff:5"}
                done = subprocess.run(["env", *(f"{k}={v}" for k, v in listener.items()), SAMPLES / runtime / "samples",
                                       "eventsource", "--count", "2", "--rate", "100"], check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=PATIENCE).stdout.splitlines()[-1]
                self.assertEqual(json.loads(done)["truth"]["roundsWhileEnabled"], 2)

    def test_deadlocked_threads_are_there_and_form_a_cycle(self):
        for symptom in ("deadlock-monitor", "deadlock-lock", "deadlock-rwlock"):
            with self.subTest(symptom=symptom), Patient("net10.0", symptom, "--threads", 3) as patient:
                truth = patient.ready()
                names = tasks(patient.process.pid)
                owner = {t["osId"]: t["ownerOsId"] for t in truth["threads"]}
                first = truth["cycle"][0]
                self.assertEqual([first, owner[first], owner[owner[first]]], truth["cycle"])
                self.assertEqual([names[t] for t in truth["cycle"]], ["transfer-0", "transfer-1", "transfer-2"])

    def test_blocked_threads_are_there(self):
        with Patient("net10.0", "threads", 50) as patient:
            truth = patient.ready()
            names = tasks(patient.process.pid)
            self.assertEqual([names[t["osId"]] for t in truth["threads"]], [f"blocked-{i:04}" for i in range(50)])

    def test_web_answers_on_every_endpoint(self):
        with Patient("net10.0", "web") as patient:
            truth = patient.ready()
            for endpoint in truth["endpoints"]:
                url = truth["address"] + endpoint.partition("?")[0]
                if endpoint == "/throw":
                    with self.assertRaises(urllib.error.HTTPError) as failed:
                        urllib.request.urlopen(url)
                    failed.exception.close()
                    self.assertEqual(failed.exception.code, 500)
                else:
                    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                        self.assertEqual(answer.status, 200, endpoint)

    def test_the_shop_tells_what_each_request_of_its_load_did(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime), Patient(runtime, "shop") as shop, tempfile.NamedTemporaryFile() as ids:
                shop_truth = shop.ready()
                _, load = run(runtime, "shop-load", "--address", shop_truth["address"], "--requests", 100, "--rate", 500,
                              "--duration", PATIENCE, "--truth", "--ids", ids.name)
                sent = [json.loads(line) for line in pathlib.Path(ids.name).read_text().splitlines()]
                self.assertEqual((load["sent"], len(sent), len({s["traceId"] for s in sent})), (100, 100, 100))
                self.assertEqual(sorted(f"{r['method']} {r['route']}" for r in load["routes"]), sorted(shop_truth["routes"]))
                told = self.ended(shop_truth["address"])
                for one in sent:
                    request = told[one["traceId"]]
                    self.assertEqual((request["method"], request["path"], request["route"]), (one["method"], one["path"], one["route"]))
                    self.assertEqual(one["error"], "left" if one["route"] == "/feed/{topic}" else None)
                    self.assertIn(one["status"], (0, request["status"]))
                    self.check_calls(request)

    def ended(self, address):
        """All measured requests by trace id, once they and what they left behind have ended."""
        for _ in range(PATIENCE * 10):
            with urllib.request.urlopen(f"{address}/truth", timeout=PATIENCE) as answer:
                requests = json.load(answer)["requests"]
            if all(span["durationMs"] is not None for r in requests for span in (r, *r["calls"])):
                return {r["traceId"]: r for r in requests}
            time.sleep(0.1)
        self.fail("a request of the shop does not end")

    def check_calls(self, request):
        shop = "Samples.Shop."
        calls = {call["id"]: call for call in request["calls"]}
        for call in calls.values():
            outer = calls.get(call["parent"], {"startMs": 0, "durationMs": request["durationMs"]})
            self.assertGreaterEqual(call["startMs"], outer["startMs"])
            if call["method"] != shop + "Mail.SendAsync":  # which nobody waits for
                self.assertLessEqual(call["startMs"] + call["durationMs"], outer["startMs"] + outer["durationMs"] + 1e-6)
        tree = sorted((call["method"].removeprefix(shop), calls[call["parent"]]["method"].removeprefix(shop) if call["parent"] else "")
                      for call in calls.values() if "OpenAsync" not in call["method"])
        query, exchange = "Database.QueryAsync", "Connection.ExchangeAsync"
        if (request["method"], request["route"]) == ("GET", "/orders/{id}"):
            self.assertEqual(tree, sorted([("Orders.GetAsync", ""), ("Orders.LoadAsync", "Orders.GetAsync"), (query, "Orders.LoadAsync"), (exchange, query),
                                           ("Stock.CheckAsync", "Orders.GetAsync"), (query, "Stock.CheckAsync"), (exchange, query)]))
        elif request["route"] == "/catalog/{page}":
            self.assertEqual(tree, sorted([("Products.ListAsync", ""), ("Products.StreamAsync", "Products.ListAsync"),
                                           *[(query, "Products.StreamAsync"), (exchange, query)] * 4]))
        elif request["route"] == "/payments/{id}":
            self.assertIn(("Payments.Refuse", "Payments.ChargeAsync"), tree)
            self.assertEqual(request["status"], 500)


if __name__ == "__main__":
    unittest.main()
