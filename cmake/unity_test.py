"""Which files may be compiled as one."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import unity  # noqa: E402


class UnityTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def groups(self, *texts):
        """The numbers of the files in each group."""
        paths = []
        for number, text in enumerate(texts):
            paths.append(self.folder / "src" / f"{number}.cpp")
            paths[-1].parent.mkdir(exist_ok=True)
            paths[-1].write_text(text)
        found = []
        for line in map(pathlib.Path, unity.files_to_compile(self.folder / "src", self.folder / "out", map(str, paths))):
            names = [line.name] if line in paths else [part.split('"')[1] for part in line.read_text().splitlines()]
            found.append([int(name.removesuffix(".cpp")) for name in names])
        return found

    def assert_together(self, *texts):
        self.assertEqual(self.groups(*texts), [list(range(len(texts)))])

    def assert_apart(self, *texts):
        self.assertEqual(self.groups(*texts), [[number] for number in range(len(texts))])

    def test_files_without_local_names_share_a_group(self):
        self.assert_together("int one() { return 1; }\n", "namespace a { int two() { return 2; } }\n")

    def test_the_same_local_name_keeps_files_apart(self):
        for declaration in ("int run(int x) { return x; }", "constexpr int run = 3;", "struct run { int x; };", "enum class run { a };", "using run = int;",
                            "template <class T> std::vector<T> run(T x) { return {x}; }", "const char* const run[] = {\"a\"};",
                            "class run final : public Base {};", "std::map<int, std::string> run;"):
            with self.subTest(declaration):
                self.assert_apart("namespace a { namespace {\n" + declaration + "\n} }\n", "namespace a { namespace { int run() { return 1; } } }\n")

    def test_a_local_name_that_another_file_uses_keeps_them_apart(self):
        # Without this rule the call could silently take the other file's overload.
        self.assert_apart("namespace { int limit(long x) { return 1; } }\n", "int two() { return limit(2); }\n")

    def test_members_and_qualified_names_are_not_uses(self):
        self.assert_together("namespace { int size() { return 1; } }\n", "int two(V& v, V* w) { return v.size() + w->size() + std::size(v); }\n")

    def test_words_in_comments_strings_and_literals_are_not_uses(self):
        self.assert_together("namespace { int size() { return 1'000; } }\n", "// size\nconst char* f() { return \"size\" R\"(size)\"; } /* size */\n")

    def test_local_names_inside_functions_and_structs_do_not_matter(self):
        self.assert_together("namespace { struct A { int size; }; int f() { int size = 1; return size; } }\n", "int g() { int size = 2; return size; }\n")

    def test_macros_statics_and_using_directives_count(self):
        self.assert_apart("#define LIMIT 3\n", "int f() { return LIMIT; }\n")
        self.assert_apart("static int limit() { return 1; }\n", "int f() { return limit(); }\n")
        self.assert_apart("namespace b { using namespace c; }\n", "int f() { return 1; }\n")
        self.assert_together("using namespace std::chrono_literals;\n", "int f() { return 1; }\n")

    def test_the_same_using_declaration_may_stand_in_both(self):
        self.assert_together("namespace { using ::testing::Eq; }\n", "namespace { using ::testing::Eq; }\n")
        self.assert_apart("namespace { using ::testing::Eq; }\n", "namespace { using ::ours::Eq; }\n")
        self.assert_apart("namespace { using ::testing::Eq; }\n", "int f() { return Eq(); }\n")

    def test_tests_of_one_suite_do_not_clash(self):
        self.assert_together("namespace { TEST(Suite, One) { run(); } }\n", "namespace { TEST(Suite, Two) { run(); } }\n")

    def test_large_groups_are_split(self):
        self.assertEqual(self.groups(*["int f();\n" * 2000] * 3), [[0], [1], [2]])

    def test_an_unchanged_group_is_not_written_again(self):
        self.groups("int a();\n", "int b();\n")
        before = (self.folder / "out/unity_0.cpp").stat().st_mtime_ns
        self.groups("int a();\n", "int b();\n")
        self.assertEqual((self.folder / "out/unity_0.cpp").stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
