"""Tests of check_layers.py on small trees made for the purpose."""
import pathlib
import tempfile
import unittest

import check_layers


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("src/base/CMakeLists.txt", "clrscope_room(base LIBS tl::expected)\n")
        self.write("src/model/CMakeLists.txt", "clrscope_room(model DEPS base)\n")
        self.write("src/ipc/CMakeLists.txt", "# clrscope_room(ipc DEPS model)\nclrscope_room(ipc\n  DEPS base\n  LIBS x)\n")

    def write(self, place, text):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        return check_layers.check(self.root)

    def test_accepts_includes_that_deps_names(self):
        self.write("src/ipc/a.cpp", '#include "ipc/a.h"\n#include <fmt/core.h>\n#include <sys/un.h>\n#include "base/io.h"\n')
        self.assertEqual(self.check(), [])

    def test_names_file_line_and_room_of_a_forbidden_include(self):
        self.write("src/ipc/a.cpp", '#include "base/io.h"\n\n  #  include "model/ids.h"\n')
        (line,) = self.check()
        self.assertTrue(line.startswith("src/ipc/a.cpp:3: "), line)
        self.assertIn("ipc may not include model", line)

    def test_names_a_room_that_is_named_through_anothers_headers(self):
        self.write("src/ipc/a.cpp", '#include "base/io.h"\n\nmodel::Stack stack;  // model::x\nauto text = "model::y";\n')
        (line,) = self.check()
        self.assertTrue(line.startswith("src/ipc/a.cpp:3: "), line)
        self.assertIn("ipc may not name model", line)

    def test_a_test_file_obeys_the_same_deps(self):
        self.write("src/base/a_test.cpp", '#include "model/ids.h"\n')
        self.assertEqual(len(self.check()), 1)

    def test_refuses_includes_relative_to_the_file(self):
        self.write("src/base/a.cpp", '#include "io.h"\n#include "../base/io.h"\n')
        self.assertEqual(len(self.check()), 2)

    def test_gtest_is_for_tests_only(self):
        self.write("src/base/a.cpp", "#include <gtest/gtest.h>\n")
        self.write("src/base/a_test.cpp", "#include <gtest/gtest.h>\n")
        (line,) = self.check()
        self.assertTrue(line.startswith("src/base/a.cpp:1: "), line)

    def test_a_third_party_header_stays_in_its_room(self):
        self.write("src/base/zstd.cpp", "#include <zstd.h>\n")
        self.write("src/ipc/b.cpp", "#include <zstd.h>\n")
        self.write("src/ipc/c.cpp", "#include <spdlog/spdlog.h>\n")
        self.assertEqual([line.split(":")[0] for line in self.check()], ["src/ipc/b.cpp", "src/ipc/c.cpp"])

    def test_an_unknown_third_party_header_is_refused(self):
        self.write("src/base/a.cpp", "#include <absl/strings/str_cat.h>\n")
        self.assertIn("THIRD_PARTY", self.check()[0])

    def test_rooms_must_not_depend_on_each_other(self):
        self.write("src/base/CMakeLists.txt", "clrscope_room(base DEPS ipc)\n")
        self.assertIn("base → ipc → base", self.check()[0])

    def test_deps_must_name_rooms(self):
        self.write("src/ipc/CMakeLists.txt", "clrscope_room(ipc DEPS base bse)\n")
        self.assertIn("DEPS names bse", self.check()[0])

    def test_a_folder_without_a_room_is_named(self):
        self.write("src/attic/a.cpp", "")
        self.assertIn("attic has no clrscope_room()", self.check()[0])


if __name__ == "__main__":
    unittest.main()
