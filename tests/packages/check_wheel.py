"""The platform wheel, installed where no program muster exists: it contains its own program, which runs a cluster. Its tag states its
requirements, and the pure wheel has the same modules.

  check_wheel.py PACKAGES_FOLDER PYTHON PROJECT_FOLDER

PYTHON has the dependencies of the package.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

from elf import glibc_needed, libraries_needed

PACKAGES, PYTHON, PROJECT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
GLIBC_MAX = (2, 34)  # glibc of RHEL 9; Ubuntu 22.04 has 2.35, Debian 12 has 2.36
PROGRAM = "muster/_bundled/bin/muster"
LIBRARY = "muster/_bundled/lib/muster/libmuster_values.so"
USE = """
import muster
with muster.LocalCluster(workers=2) as cluster, cluster.coordinator() as c:
    print(c.fetch([c.schedule(pow, args=(i, 2)) for i in range(4)]))
"""


def the_only(pattern):
    (found,) = pathlib.Path(PACKAGES).glob(pattern)
    return found


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.where = pathlib.Path(cls.folder.name)
        cls.wheel = the_only("muster-*-manylinux*.whl")
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target",
                        cls.where, cls.wheel], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_here(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd="/",
                              env={"PATH": "/usr/bin:/bin", "HOME": self.folder.name,
                                   "PYTHONPATH": self.folder.name, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_local_cluster_runs_with_only_the_wheel(self):
        self.assertEqual(self.run_here(PYTHON, "-c", USE), "[0, 1, 4, 9]\n")

    def test_large_values_use_the_bundled_library(self):
        what = "from muster._shared import library, memory; print(library.found() is not None, memory.bytes_max(5))"
        self.assertEqual(self.run_here(PYTHON, "-c", what), "True 5\n")
        symbols = subprocess.run(["nm", "--dynamic", "--defined-only", self.where / LIBRARY], capture_output=True, text=True, check=True)
        others = [line for line in symbols.stdout.splitlines() if "muster_values_" not in line]
        self.assertEqual(others, [])

    def test_command_and_module_run_the_bundled_program(self):
        expected = self.run_here(str(self.where / PROGRAM), "version", "--client")
        self.assertRegex(expected, r"^muster [0-9.]+ ")
        self.assertEqual(self.run_here(PYTHON, str(self.where / "bin/muster"), "version", "--client"), expected)
        self.assertEqual(self.run_here(PYTHON, "-m", "muster", "version", "--client"), expected)

    def test_tag_matches_the_required_glibc(self):
        files = [self.where / PROGRAM, self.where / LIBRARY]
        for file in files:
            self.assertLessEqual(libraries_needed(file), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})
        major, minor = glibc_needed(files)
        self.assertLessEqual((major, minor), GLIBC_MAX)
        self.assertIn(f"-py3-none-manylinux_{major}_{minor}_", self.wheel.name)
        (info,) = self.where.glob("muster-*.dist-info")
        self.assertRegex((info / "WHEEL").read_text(), rf"(?m)^Tag: py3-none-manylinux_{major}_{minor}_")

    def test_notices_of_bundled_libraries_are_included(self):
        notices = {file.name for file in (self.where / "muster/_bundled/notices").iterdir()}
        self.assertIn("muster.copyright", notices)
        for word in ("grpc", "protobuf", "rocksdb", "ssl3", "spdlog"):
            self.assertTrue(any(word in name for name in notices), word)

    def test_pure_wheel_differs_only_by_the_bundled_program(self):
        def names(wheel):
            return {n for n in zipfile.ZipFile(wheel).namelist() if not re.search(r"dist-info|_bundled", n)}

        self.assertEqual(names(self.wheel), names(the_only("muster-*-py3-none-any.whl")))

    def test_exceptions_are_caught_on_a_glibc_without_their_tables(self):
        """Simulates glibc before 2.35, where the lookup finds no tables."""
        source, program = self.where / "throws.cpp", self.where / "throws"
        source.write_text('extern "C" void* nothing_is_found(void*, char const*) { return nullptr; }\n'
                          "int main() { try { throw 42; } catch (int n) { return n - 42; } }\n")
        objects = [str(self.where / "glibc.o")]
        subprocess.run(["gcc", "-O2", "-Ddlsym=nothing_is_found", "-c", PROJECT / "deploy/portable/glibc.c",
                        "-o", objects[0]], check=True)
        subprocess.run(["g++", "-static-libstdc++", "-static-libgcc", source, *objects, "-o", program], check=True)
        subprocess.run([program], check=True, timeout=20)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
