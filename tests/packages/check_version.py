"""The version in CMakeLists.txt equals that of the program, a running server, the API's description and the Python package. Files
that state the version themselves are compared here.

  check_version.py MUSTER PROJECT_FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, environment

MUSTER, PROJECT = sys.argv[1], pathlib.Path(sys.argv[2])
VERSION = re.search(r"^project\(muster VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text(),
                    re.M)[1]


def told(*words):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=60, check=True,
                          env=environment())


class OneVersion(unittest.TestCase):
    def test_version_of_the_program_and_the_server_is_printed(self):
        with tempfile.TemporaryDirectory() as folder, Server([MUSTER], folder) as server:
            done = told("version", "--url", server.url)
            self.assertRegex(done.stdout, rf"^muster {re.escape(VERSION)} \(.*gRPC.*\)\n")
            self.assertIn(f"\nserver {VERSION} at {server.url}\n", done.stdout)
            self.assertEqual(done.stderr, "")
            both = json.loads(told("version", "--url", server.url, "--output", "json").stdout)
            self.assertEqual(both["client"]["version"], VERSION)
            self.assertEqual(both["server"], {"version": VERSION, "url": server.url})
            with urllib.request.urlopen(server.url + "/openapi.json", timeout=20) as answer:
                self.assertEqual(json.load(answer)["info"]["version"], VERSION)
            log = pathlib.Path(server.log).read_text()
            self.assertIn(f"ready version={VERSION} ", log)

    def test_version_succeeds_without_a_server(self):
        done = told("version", "--url", "http://127.0.0.1:1")
        self.assertEqual(done.stdout.splitlines()[1], "server: no server answers at http://127.0.0.1:1")
        self.assertEqual(len(told("version", "--client").stdout.splitlines()), 1)

    def test_python_package_has_the_version(self):
        found = subprocess.run([sys.executable, "-c", "import muster; print(muster.__version__)"],
                               capture_output=True, text=True, timeout=60, check=True,
                               cwd=PROJECT / "python")
        self.assertEqual(found.stdout.strip(), VERSION)
        self.assertNotRegex((PROJECT / "python/pyproject.toml").read_text(), r'(?m)^version *= *"')

    def test_changelog_contains_the_version(self):
        headings = re.findall(r"^## \[(.+?)\]", (PROJECT / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(headings[:2], ["Unreleased", VERSION])

    def test_licence_is_the_same_everywhere(self):
        text = (PROJECT / "LICENSE").read_text()
        self.assertIn("Apache License", text)
        self.assertEqual((PROJECT / "python/LICENSE").read_text(), text)
        for file, form in (("python/pyproject.toml", r'(?m)^license = \{ text = "Apache-2\.0" \}$'),
                           ("deploy/debian/copyright", r"(?m)^License: Apache-2\.0$"),
                           ("deploy/image/Containerfile", r"licenses=Apache-2\.0\b"),
                           ("web/dashboard/package.json", r'"license": "Apache-2\.0"')):
            self.assertRegex((PROJECT / file).read_text(), form, file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
