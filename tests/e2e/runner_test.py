"""Tests of the runner with stand-ins for the programs under test: shell scripts in a folder of their own."""
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent

SAMPLES = """#!/bin/bash
echo "starting $1"
echo '{"ready":true,"pid":'$$',"truth":{"threads":3,"name":"'$1' '$2'"}}'
[ "$1" = quits ] || exec sleep 60
"""
CLRSCOPE = """#!/bin/bash
case $1 in
  json) echo '{"lost":0,"items":[{"id":"a","n":1},{"id":"b","n":2}],"file":"'$TMPDIR'/x"}' ;;
  fail) echo "clrscope: no such process $2" >&2; exit 1 ;;
  wait) trap 'echo {\\"stopped\\":true}; exit 0' INT; echo recording >&2; while :; do sleep 0.05; done ;;
  who) id -u; touch "$TMPDIR/mine" ;;
  orphan) setsid sleep 60 & echo $! >$2 ;;
esac
"""


class RunnerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("samples/net10.0/samples", SAMPLES)
        self.write("samples/net8.0/samples", SAMPLES)
        self.write("bin/clrscope", CLRSCOPE)
        self.write("oracle", "#!/bin/sh\necho \"{\\\"command\\\":\\\"$1\\\"}\"\n")

    def write(self, place, text):
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def command(self, *options):
        return [sys.executable, str(HERE / "run"), "--bin", str(self.folder / "bin"), "--samples", str(self.folder / "samples"),
                "--oracle", str(self.folder / "oracle"), *options, str(self.folder / "one.case")]

    def run_case(self, *lines, options=()):
        self.write("one.case", "\n".join(("NAME one", "LIMIT 10") + lines) + "\n")
        done = subprocess.run(self.command(*options), capture_output=True, text=True, check=False)
        self.output, self.exit = done.stdout + done.stderr, done.returncode
        return self.output.rstrip().splitlines()[-1]

    def assert_passes(self, *lines):
        last = self.run_case(*lines)
        self.assertEqual(last, "1 passed, 0 failed, 0 skipped", self.output)

    def assert_fails(self, reason, *lines):
        last = self.run_case(*lines)
        self.assertEqual(last, "0 passed, 1 failed, 0 skipped", self.output)
        self.assertIn(reason, self.output)
        self.assertEqual(self.exit, 1)

    def test_expectations_on_json(self):
        self.assert_passes("APP cpu --seconds 60", "RUN clrscope json -p {pid}", "EXPECT .lost == 0", "EXPECT .items[?id==b].n == 2",
                           "EXPECT .items.length == 2", "SAVE f = .file", "EXPECT {f} contains /x", "EXPECT {app.truth.threads} == 3",
                           "EXPECT time < 9", "EXPECT .items[0].n == .items[0].n")

    def test_a_failure_names_line_and_value_and_shows_the_transcript(self):
        self.assert_fails("one.case:4: EXPECT .lost == 1: .lost is 0", "RUN clrscope json", "EXPECT .lost == 1")
        self.assertIn('"lost":0', self.output)

    def test_exit_codes(self):
        self.assert_passes("RUN clrscope fail 5", "EXIT 1", 'EXPECT stderr contains "no such process 5"', "EXPECT stdout == \"\"")
        self.assert_fails("exit code 1, expected 0", "RUN clrscope fail")

    def test_background_signal_wait_until(self):
        self.assert_passes("BACKGROUND rec: clrscope wait", "UNTIL rec stderr contains recording", "SIGNAL rec INT", "WAIT rec 5",
                           "EXPECT .stopped == true")

    def test_send_writes_a_line(self):
        self.write("bin/clrscope", "#!/bin/bash\nread line; echo got $line; exit 4\n")
        self.assert_passes("BACKGROUND rec: clrscope", "SEND rec one {target}", "WAIT rec", "EXIT 4", "EXPECT stdout contains \"got one net10.0\"")

    def test_wait_is_bounded(self):
        self.assert_fails("had not ended", "BACKGROUND rec: clrscope wait", "WAIT rec 0.3")

    def test_waiting_for_a_command_that_has_ended_fails_at_once(self):
        self.assert_fails("rec has ended with 1; stdout is", "BACKGROUND rec: clrscope fail", "UNTIL rec stdout contains never")
        self.assert_passes("BACKGROUND rec: clrscope json", "UNTIL rec .lost == 0")

    def test_the_limit_ends_a_case(self):
        self.assert_fails("never came true", "LIMIT 0.5", "BACKGROUND rec: clrscope wait", "UNTIL rec stdout contains never")

    def test_several_apps_and_names(self):
        self.assert_passes("APP as left: cpu a", "APP as right: cpu b", "SHELL test {pid1} != {pid2}", "EXPECT {left.pid} == {pid1}",
                           'EXPECT {right.truth.name} == "cpu b"', "SIGNAL right KILL", "WAIT right", "EXIT 137")

    def test_an_app_that_ends_early_fails_the_case(self):
        self.write("samples/net10.0/samples", "#!/bin/sh\necho oops >&2; exit 3\n")
        self.assert_fails("no ready line", "APP cpu")
        self.assertIn("oops", self.output)

    def test_shell_gets_variables(self):
        self.assert_passes("APP cpu x", "SHELL", "  test $app_truth_threads = 3 && test {pid} = $pid", "  echo '{\"a\": 1}' | awk '{print}'",
                           "EXPECT .a == 1", "SHELL echo hi > $tmp/f", "EXPECT file {tmp}/f size == 3", "EXPECT file f contains hi",
                           "EXPECT file g missing")

    def test_oracle(self):
        self.assert_passes("ORACLE summary {tmp}/x", 'EXPECT .command == "summary"')

    def test_skip_unless(self):
        self.assertEqual(self.run_case("SKIP UNLESS false", "RUN clrscope fail"), "0 passed, 0 failed, 1 skipped")
        self.assertEqual(self.exit, 0)
        self.assertIn("(unless false)", self.output)

    def test_one_target_in_rotation_unless_each_or_all_are_asked_for(self):
        self.assertEqual(self.run_case("ON net8.0 net10.0", "APP cpu", options=["--repeat", "2"]), "2 passed, 0 failed, 0 skipped")
        self.assertEqual(self.run_case("ON EACH net8.0 net10.0", "APP cpu"), "2 passed, 0 failed, 0 skipped")
        self.assertEqual(self.run_case("ON net8.0 net10.0", "APP cpu", options=["--all-targets"]), "2 passed, 0 failed, 0 skipped")
        self.assertEqual(self.run_case("ON net8.0 net10.0", "APP cpu", options=["--all-targets", "--filter", "net8"]), "1 passed, 0 failed, 0 skipped")

    def test_long_runs_only_when_asked(self):
        self.assertEqual(self.run_case("LONG", "RUN clrscope json"), "0 passed, 0 failed, 1 skipped")
        self.assertEqual(self.run_case("LONG", "RUN clrscope json", options=["--long"]), "1 passed, 0 failed, 0 skipped")

    def test_alone_runs_after_the_others_one_at_a_time(self):
        log = self.folder / "log"
        self.write("other.case", f"NAME other\nSHELL echo other >>{log}\n")
        self.assertEqual(self.run_case("ALONE", f"SHELL echo begin >>{log}; seq 100000 >$tmp/work; echo end >>{log}",
                                       options=["--repeat", "2", str(self.folder / "other.case")]), "4 passed, 0 failed, 0 skipped")
        self.assertEqual(log.read_text().split(), ["other"] * 2 + ["begin", "end"] * 2)

    def test_a_failed_case_is_retried_once_and_listed(self):
        self.assertEqual(self.run_case(f"SHELL test -e {self.folder}/second || {{ touch {self.folder}/second; false; }}", options=["--retry"]),
                         "1 passed, 0 failed, 0 skipped")
        self.assertIn("retried: one.case [net10.0]: one.case:3: SHELL test", self.output)
        self.assertNotIn("failed: ", self.output)
        self.assertEqual(self.run_case("SHELL false", options=["--retry"]), "0 passed, 1 failed, 0 skipped")
        self.assertIn("failed: one [net10.0]: one.case:3: SHELL false: exit code 1, expected 0", self.output)

    def test_four_failures_are_not_retried(self):
        flaky = f"SHELL test -e {self.folder}/second && exit; false"
        self.assertEqual(self.run_case(flaky, options=["--retry", "--repeat", "4"]), "0 passed, 4 failed, 0 skipped")
        self.assertNotIn("retried: ", self.output)

    def test_the_slowest_cases_are_listed(self):
        self.run_case("RUN clrscope json")
        self.assertRegex(self.output, r"slow: +[0-9.]+ s  one.case \[net10.0\]")

    def test_slow_steps_are_listed_on_request(self):
        slow = "RUN timeout 0.6 tail -f /dev/null"
        self.run_case(slow, "EXIT 124", "RUN clrscope json", options=("--times",))
        self.assertRegex(self.output, rf"\n +\d+\.\d s  one\.case:3: {slow}\n")
        self.assertNotIn("one.case:5", self.output)
        self.run_case(slow, "EXIT 124")
        self.assertNotIn("one.case:3", self.output)

    def test_http_status_header_and_body(self):
        serve = self.serve()
        self.assert_passes(f"AT {serve}", "HTTP GET /hello?a=1", "EXPECT .path == /hello?a=1", "EXPECT status == 200", "EXPECT header X-Test == yes",
                           "EXPECT header X-None missing", "HTTP GET /missing", "STATUS 404", "EXPECT status == 404",
                           "HTTP POST /echo -> {tmp}/body", "  X-Give: {target}", '  {"target":"{target}",', '  "list":[1]}',
                           'EXPECT file body contains "net10.0"', "EXPECT header X-Got == net10.0")
        self.assert_fails("status 404, expected 2xx", f"AT {serve}", "HTTP GET /missing")
        self.assert_fails("HTTP needs AT", "HTTP GET /")

    def test_until_repeats_a_command_or_a_request(self):
        serve = self.serve()
        self.assert_passes("UNTIL SHELL echo x >>$tmp/n; wc -l <$tmp/n => stdout ~ ^3$", "EXPECT file n size == 6",
                           f"AT {serve}", "UNTIL HTTP GET /count => .n >= 3", "EXPECT .n == 3")
        self.assert_fails("never came true; stdout is", "LIMIT 0.5", "UNTIL SHELL echo no => stdout contains yes")
        self.assert_fails("never came true; exit code 1", "LIMIT 0.5", "UNTIL RUN clrscope fail => stdout exists")

    def serve(self):
        """A server of our own, for HTTP."""
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.path)
                body = json.dumps({"path": self.path, "n": seen.count("/count")}).encode()
                self.answer(404 if self.path == "/missing" else 200, body)

            def do_POST(self):
                self.answer(200, self.rfile.read(int(self.headers["Content-Length"])), self.headers.get("X-Give"))

            def answer(self, status, body, got=None):
                self.send_response(status)
                self.send_header("X-Test", "yes")
                if got:
                    self.send_header("X-Got", got)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_a_case_given_by_a_relative_path_finds_what_is_beside_it(self):
        self.write("one.case", "NAME one\nRUN cat {here}/one.case\nEXPECT stdout contains NAME\n")
        done = subprocess.run([*self.command()[:-1], "one.case"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertIn("1 passed", done.stdout)

    def test_bad_cases_are_refused(self):
        for line, complaint in (("RUM clrscope", "no directive RUM"), ("SHELL sleep 1", "must not sleep"), ("SHELL read -t 1", "must not sleep"),
                                ("RUN clrscope json\nEXIT 0 1", "EXIT takes one number"), ("RUN clrscope\nSTATUS 200", "STATUS must follow HTTP"),
                                ("UNTIL RUN clrscope json", "UNTIL RUN … => EXPECTATION")):
            self.run_case(line)
            self.assertEqual(self.exit, 3, line)
            self.assertIn(complaint, self.output)

    def test_nothing_survives_a_case(self):
        self.assert_passes("APP cpu", "SHELL echo {pid} > " + str(self.folder / "pid"), f"RUN clrscope orphan {self.folder}/orphan")
        for name in ("pid", "orphan"):
            self.assertNotIn("sleep", command_of(int((self.folder / name).read_text())), name)

    def test_an_interrupt_cleans_up(self):
        mark = self.folder / "pid"
        self.write("one.case", f"NAME one\nAPP cpu\nSHELL echo {{pid}} > {mark}\nBACKGROUND rec: clrscope wait\nWAIT rec\n")
        with subprocess.Popen(self.command(), stdout=subprocess.PIPE, text=True) as run:
            while not (mark.exists() and mark.read_text()):
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGINT)
            self.assertIn("interrupted", run.communicate()[0])
        self.assertEqual(run.returncode, 130)
        self.assertFalse(pathlib.Path(f"/proc/{int(mark.read_text())}").exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_user_runs_as_that_user(self):
        self.assert_passes("USER 65534", "RUN clrscope who", "EXPECT stdout contains 65534", "EXPECT file {tmp}/mine exists", "USER 0",
                           "RUN clrscope who", "EXPECT stdout ~ ^0$")


def command_of(pid):
    """Its command line; empty when it is gone or waits to be reaped by init."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
