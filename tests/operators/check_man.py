"""The man pages: one for each command, without warnings of the formatters."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import support


class Man(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = pathlib.Path(cls.folder.name, "man1")
        done = support.run("man", "--dir", str(cls.pages))
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_command_has_a_page(self):
        names = {p.name for p in self.pages.iterdir()}
        help_text = support.run("--help").stdout
        verbs = re.findall(r"^  ([a-z][a-z-]*)  ", help_text, re.M)
        self.assertGreater(len(verbs), 20)
        for verb in verbs:
            self.assertIn(f"muster-{verb}.1", names)
        self.assertIn("muster.1", names)

    def test_mandoc_reports_no_problem(self):
        for page in sorted(self.pages.iterdir()):
            done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), page.name)

    def test_groff_reports_no_problem(self):
        for page in sorted(self.pages.iterdir()):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-b", page],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_page_matches_the_help(self):
        text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=200", self.pages / "muster-serve.1"],
                              capture_output=True, text=True, timeout=60).stdout
        text = re.sub(".\b", "", text)  # bold and underlined text
        flat = " ".join(text.split())
        help_text = support.run("serve", "--help-all").stdout
        flags = set(re.findall(r"--[a-z][a-z0-9-]*", help_text))
        self.assertGreater(len(flags), 50)
        for flag in flags:
            self.assertIn(flag, flat)
        for part in ("muster-serve - Run the server", "Time without a message after which a worker is lost",
                     "--log-format text|json", "MUSTER_SERVE_...", "  muster serve --grpc"):
            self.assertIn(part.strip(), flat)

    def test_page_is_printed(self):
        printed = support.run("man", "serve").stdout
        self.assertEqual(printed, (self.pages / "muster-serve.1").read_text())
        self.assertEqual(support.run("man").stdout, (self.pages / "muster.1").read_text())
        old = support.run("man", env={**support.ENVIRONMENT, "SOURCE_DATE_EPOCH": "86400"}).stdout
        self.assertTrue(old.startswith('.TH "MUSTER" 1 "1970-01-02" "muster '), old[:60])
        unknown = support.run("man", "sevre")
        self.assertEqual((unknown.returncode, unknown.stdout), (2, ""))
        self.assertIn("there is no command 'sevre'", unknown.stderr)

    def test_unwritable_folder_is_reported(self):
        done = support.run("man", "--dir", "/proc/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--dir: cannot write /proc/nowhere/muster.1", done.stderr)


support.main()
