"""Tests of paths, comparisons and variables."""
import pathlib
import tempfile
import unittest

import values
from values import CaseError, Missing, Variables, compare, follow, split_expectation

DOCUMENT = {"lost": 0, "name": "shop", "items": [{"id": "a", "n": 1}, {"id": "b", "n": 5, "tags": {"x.y": 2}}], "none": None, "ok": True}


class Paths(unittest.TestCase):
    def test_keys_and_indexes(self):
        self.assertEqual(follow(DOCUMENT, ".items[0].id"), "a")
        self.assertEqual(follow(DOCUMENT, ".items[-1].n"), 5)
        self.assertEqual(follow(DOCUMENT, '.items[1].tags["x.y"]'), 2)
        self.assertEqual(follow([{"a": 1}], "[0].a"), 1)

    def test_length_counts_elements_and_characters(self):
        self.assertEqual(follow(DOCUMENT, ".items.length"), 2)
        self.assertEqual(follow(DOCUMENT, ".name.length"), 4)
        self.assertEqual(follow({"length": 7}, ".length"), 7)

    def test_select_finds_by_value(self):
        self.assertEqual(follow(DOCUMENT, '.items[?id=="b"].n'), 5)
        self.assertEqual(follow(DOCUMENT, ".items[?id==b].n"), 5)
        self.assertEqual(follow(DOCUMENT, ".items[?n >= 1].length"), 2)
        self.assertEqual(follow(DOCUMENT, '.items[?id ~ "^[ab]$"].length'), 2)

    def test_select_without_a_match_is_missing(self):
        self.assertIsInstance(follow(DOCUMENT, ".items[?id==c].n"), Missing)
        self.assertEqual(follow(DOCUMENT, ".items[?id==c].length"), 0)

    def test_each_collects(self):
        self.assertEqual(follow(DOCUMENT, ".items[*].id"), ["a", "b"])
        self.assertEqual(follow(DOCUMENT, ".items[*].tags"), [{"x.y": 2}])

    def test_missing_says_where(self):
        self.assertEqual(follow(DOCUMENT, ".items[2].id").where, ".items[2]")
        self.assertEqual(follow(DOCUMENT, ".nothing.at.all").where, ".nothing")

    def test_nonsense_is_an_error(self):
        with self.assertRaises(CaseError):
            follow(DOCUMENT, ".items[x]")


class Comparisons(unittest.TestCase):
    def test_equality_does_not_mix_truth_and_numbers(self):
        self.assertTrue(compare(0, "==", 0))
        self.assertFalse(compare(True, "==", 1))
        self.assertTrue(compare(True, "!=", 1))
        self.assertTrue(compare(None, "==", None))

    def test_order(self):
        self.assertTrue(compare(2, "<", 10))
        self.assertFalse(compare(2, ">=", 10))
        self.assertTrue(compare("10.0.1", ">=", "10.0.0"))
        with self.assertRaises(CaseError):
            compare("2", "<", 10)

    def test_missing_satisfies_only_missing(self):
        for op in ("==", "!=", "<", "~", "contains", "lacks", "exists"):
            self.assertFalse(compare(Missing("x"), op, 1), op)
        self.assertTrue(compare(Missing("x"), "missing", None))
        self.assertFalse(compare(0, "missing", None))

    def test_text(self):
        self.assertTrue(compare("one\ntwo", "~", "^two$"))
        self.assertTrue(compare("one", "!~", "two"))
        self.assertTrue(compare("one two", "contains", "e t"))
        self.assertTrue(compare(["a", "b"], "contains", "b"))
        self.assertTrue(compare("port 8080", "contains", 8080))
        self.assertTrue(compare("one", "lacks", "two"))

    def test_within(self):
        self.assertTrue(compare(95, "within", "5% of 100"))
        self.assertFalse(compare(94, "within", "5% of 100"))
        self.assertTrue(compare(3.5, "within", "0.5 of 4"))
        with self.assertRaises(CaseError):
            compare(3, "within", "about 4")

    def test_a_selection_compares_its_first(self):
        self.assertTrue(compare(follow([{"a": 1}, {"a": 1, "b": 2}], "[?a==1]"), "==", {"a": 1}))
        self.assertFalse(compare(follow([], "[?a==1]"), "==", 1))


class Expectations(unittest.TestCase):
    def test_are_split_at_their_own_operator(self):
        self.assertEqual(split_expectation(".a == 1"), (".a", "==", "1"))
        self.assertEqual(split_expectation('.a[?b == "x y"].c >= {pid}'), ('.a[?b == "x y"].c', ">=", "{pid}"))
        self.assertEqual(split_expectation('stderr contains "a == b"'), ("stderr", "contains", '"a == b"'))
        self.assertEqual(split_expectation("file a.txt exists"), ("file a.txt", "exists", ""))

    def test_need_an_operator(self):
        with self.assertRaises(CaseError):
            split_expectation(".a is 1")


class VariableText(unittest.TestCase):
    def setUp(self):
        self.variables = Variables(pid=42, app={"truth": {"threads": [7, 8], "name": "x y"}})

    def test_expands_names_and_paths(self):
        self.assertEqual(self.variables.expand("-p {pid} {app.truth.threads[1]}"), "-p 42 8")

    def test_leaves_other_braces(self):
        self.assertEqual(self.variables.expand(r'\d{2} {} {"a": 1} ${pid}'), r'\d{2} {} {"a": 1} ${pid}')

    def test_an_unknown_name_is_an_error_unless_allowed(self):
        with self.assertRaises(CaseError):
            self.variables.expand("{pdi}")
        self.assertEqual(self.variables.expand("{print}", strict=False), "{print}")

    def test_environment_is_flat(self):
        self.assertEqual(self.variables.environment(), {"pid": "42", "app_truth_threads": "[7, 8]", "app_truth_name": "x y"})


class Documents(unittest.TestCase):
    def test_json_and_lines_of_json(self):
        self.assertEqual(values.parse_json('{"a": 1}'), {"a": 1})
        self.assertEqual(values.parse_json('{"a": 1}\n\n{"a": 2}\n'), [{"a": 1}, {"a": 2}])
        self.assertIsNone(values.parse_json("hello"))
        self.assertIsNone(values.parse_json(""))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x"
            path.write_text("four")
            self.assertEqual(values.file_value(path, "size"), 4)
            self.assertEqual(values.file_value(path, ""), "four")
            self.assertIsInstance(values.file_value(path / "y", ""), Missing)


if __name__ == "__main__":
    unittest.main()
