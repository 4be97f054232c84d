"""Runs the commands and the Python of the README in order, as a reader types them, in a folder with the wheel. The ports are those of
the README, so the test runs in a network of its own. tests/docs checks the links.

  check_readme.py PACKAGES_FOLDER PYTHON PROJECT_FOLDER

PYTHON has the dependencies of the package. A block below a comment that begins with "not run:" is not run; the comment states why.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PACKAGES, PYTHON, PROJECT = (pathlib.Path(word) for word in sys.argv[1:4])
README = (PROJECT / "README.md").read_text()
LINES_MAX = 150
SECONDS = 120
BLOCK = re.compile(r"(?:<!-- (?P<comment>.*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```\n", re.S)


def blocks():
    """Yields language and text of the blocks to run, in order."""
    for found in BLOCK.finditer(README):
        if not (found["comment"] or "").startswith("not run:"):
            yield found["language"], found["text"]


class Readme(unittest.TestCase):
    def test_readme_is_short(self):
        self.assertLessEqual(len(README.splitlines()), LINES_MAX)

    def test_files_that_it_names_exist(self):
        for name in re.findall(r"`((?:scripts|docs|bench|server|web)/[\w./-]+)`", README):
            if name != "build/packages":
                self.assertTrue((PROJECT / name.rstrip("/")).exists(), name)

    def test_commands_and_python_run(self):
        with tempfile.TemporaryDirectory() as folder:
            where = pathlib.Path(folder)
            (wheel,) = PACKAGES.glob("muster-*-manylinux*.whl")
            shutil.copy(wheel, where)
            script = ["set -euo pipefail"]
            for number, (language, text) in enumerate(blocks()):
                if language == "sh":
                    # A server started with & is ready a moment later, as for a reader who types.
                    script += [text.replace("muster serve &", "muster serve & "
                               "until curl -sf localhost:8477/readyz >/dev/null; do :; done;")]
                elif language == "python" and "import muster" in text:
                    (where / f"{number}.py").write_text(text)
                    script += [f"python {number}.py"]
            (where / "all.sh").write_text("\n".join(script))
            self.run_in_an_environment(where)

    def run_in_an_environment(self, where):
        environment = where / "environment"
        subprocess.run([PYTHON, "-m", "venv", environment], check=True)
        (library,) = environment.glob("lib/python*/site-packages")
        (dependencies,) = PYTHON.parents[1].glob("lib/python*/site-packages")
        (library / "dependencies.pth").write_text(f"{dependencies}\n")
        log = where / "log"
        with log.open("w") as out:
            done = subprocess.Popen(
                ["bash", "-x", "all.sh"], cwd=where, stdout=out, stderr=out, start_new_session=True,
                env={"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(where), "PIP_NO_INDEX": "1",
                     "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
            try:
                status = done.wait(SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(done.pid, signal.SIGTERM)  # the server and the worker
        self.assertEqual(status, 0, log.read_text())
        said = log.read_text()
        self.assertIn("285\ndashboard: http://127.0.0.1:", said)
        self.assertIn('{"hello":"world"}', said)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
