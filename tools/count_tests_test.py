"""Tests of count_tests.py."""
import pathlib
import tempfile
import unittest

import count_tests

JUNIT = """<testsuite><testcase name="base" status="{}"/><testcase name="ipc_fuzz" status="run"/>
<testcase name="lost" status="fail"/></testsuite>"""
GTEST = """<testsuites><testsuite name="A"><testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="skipped"><skipped/></testcase><testcase name="c" status="notrun" result="suppressed"/>{}
</testsuite></testsuites>"""
FAILURE = '<testcase name="d" status="run" result="completed"><failure message="x"/></testcase>'


class CountTests(unittest.TestCase):
    def count(self, status, extra):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "junit.xml").write_text(JUNIT.format(status))
            (folder / "base_test.xml").write_text(GTEST.format(extra))
            return count_tests.count_ctest(folder / "junit.xml", folder)

    def test_counts_each_test_of_a_program_and_programs_without_a_list(self):
        self.assertEqual(self.count("run", ""), [2, 1, 1])

    def test_counts_failures_once(self):
        self.assertEqual(self.count("fail", FAILURE), [2, 2, 1])

    def test_a_program_that_ends_badly_after_its_tests_is_a_failure(self):
        self.assertEqual(self.count("fail", ""), [2, 2, 1])

    def test_counts_unittest_logs(self):
        log = "Ran 10 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=3)\nRan 1 test in 0s\n\nOK\n"
        self.assertEqual(count_tests.count_unittest(log), [5, 3, 3])

    def test_names_programs_that_passed_only_the_second_time(self):
        log = """1/3 Test  #1: shaky ............................***Failed    0.01 sec
    Test  #1: shaky ............................   Passed    0.00 sec
2/3 Test  #2: good .............................   Passed    0.00 sec
3/3 Test #30: bad ..............................***Timeout   0.00 sec
    Test #30: bad ..............................***Failed    0.01 sec
"""
        self.assertEqual(count_tests.passed_second(log), ["shaky"])

    def test_adds_lines(self):
        self.assertEqual(count_tests.count_lines("1 passed, 2 failed, 3 skipped\nnoise\n4 passed, 0 failed, 1 skipped\n"), [5, 2, 4])


if __name__ == "__main__":
    unittest.main()
