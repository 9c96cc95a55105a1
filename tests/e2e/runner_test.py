"""Tests of the runner with stand-ins for the programs under test: shell scripts in a folder of their own."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
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

    def test_targets_multiply_and_repeat_too(self):
        self.assertEqual(self.run_case("ON net8.0 net10.0", "APP cpu", options=["--repeat", "2"]), "4 passed, 0 failed, 0 skipped")
        self.assertEqual(self.run_case("ON net8.0 net10.0", "APP cpu", options=["--filter", "net8"]), "1 passed, 0 failed, 0 skipped")

    def test_long_runs_only_when_asked(self):
        self.assertEqual(self.run_case("LONG", "RUN clrscope json"), "0 passed, 0 failed, 1 skipped")
        self.assertEqual(self.run_case("LONG", "RUN clrscope json", options=["--long"]), "1 passed, 0 failed, 0 skipped")

    def test_alone_runs_after_the_others_one_at_a_time(self):
        log = self.folder / "log"
        self.write("other.case", f"NAME other\nSHELL echo other >>{log}\n")
        self.assertEqual(self.run_case("ALONE", f"SHELL echo begin >>{log}; read -t 0.3 <> <(:) || true; echo end >>{log}",
                                       options=["--repeat", "2", str(self.folder / "other.case")]), "4 passed, 0 failed, 0 skipped")
        self.assertEqual(log.read_text().split(), ["other"] * 2 + ["begin", "end"] * 2)

    def test_what_failed_is_told_again_at_the_end_unless_it_passed_the_second_time(self):
        self.assertEqual(self.run_case(f"SHELL test -e {self.folder}/second || {{ touch {self.folder}/second; false; }}", options=["--again"]),
                         "1 passed, 0 failed, 0 skipped")
        self.assertIn("1 of them passed only when run a second time, alone", self.output)
        self.assertNotIn("failed: ", self.output)
        self.assertEqual(self.run_case("SHELL false", options=["--again"]), "0 passed, 1 failed, 0 skipped")
        self.assertIn("failed: one [net10.0]: one.case:3: SHELL false: exit code 1, expected 0", self.output)

    def test_a_case_given_by_a_relative_path_finds_what_is_beside_it(self):
        self.write("one.case", "NAME one\nRUN cat {here}/one.case\nEXPECT stdout contains NAME\n")
        done = subprocess.run([*self.command()[:-1], "one.case"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertIn("1 passed", done.stdout)

    def test_bad_cases_are_refused(self):
        self.run_case("RUM clrscope")
        self.assertEqual(self.exit, 3)
        self.assertIn("line 3: no directive RUM", self.output)

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
