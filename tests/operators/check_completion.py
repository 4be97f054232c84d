"""Tests completion in real shells. bash and zsh run on a terminal, and a shell function named muster prints the completed line.
fish prints its suggestions."""
import os
import pathlib
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest

import support

# Some builds lack the benchmarks, the only command with subcommands.
WITH_BENCH = support.run("bench", "--help").returncode == 0


def script(shell):
    done = support.run("completion", shell)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Terminal:
    """Runs a shell on a pseudo-terminal."""

    def __init__(self, folder, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update({**support.ENVIRONMENT, "HOME": folder, "TERM": "dumb", "PS1": "% "})
            os.execvp(words[0], words)
        self.text = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, form):
        """Waits for a regular expression in the output and returns the match. Fails with the whole output."""
        end = time.monotonic() + support.DEADLINE
        while time.monotonic() < end:
            found = re.search(form, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
        raise AssertionError(f"{form!r} did not appear in {self.text!r}")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Interactive:
    """Types each first text, with a tab key for each "<tab>", and expects the second as the arguments."""

    cases = (
        ("muster ta<tab>", "tasks"),
        ("muster tasks --outp<tab>js<tab>", "tasks --output json"),
        ("muster serve --log-l<tab>deb<tab>", "serve --log-level debug"),
        ("muster kv pu<tab>", "kv put"),
        ("muster bench sess<tab>", "bench sessions"),
        ("muster compl<tab>fi<tab>", "completion fish"),
        ("muster serve --config mine<tab>", "serve --config mine.toml"),
        ("muster tasks --clu<tab>x --sta<tab>LA<tab>", "tasks --cluster x --state LATE"),
    )

    def test_shells_complete_commands_flags_and_values(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mine.toml").touch()
            pathlib.Path(folder, "script").write_text(script(self.shell))
            shell = Terminal(folder, *self.words)
            try:
                shell.type(self.begin)
                shell.until("begun-42")
                for typed, wanted in self.cases:
                    if "bench" in typed and not WITH_BENCH:
                        continue
                    for part in re.split("(<tab>)", typed):
                        shell.type("\t" if part == "<tab>" else part)
                    shell.type("\n")
                    got = shell.until(r"ARGS<([^>\n]*)>")[1]
                    self.assertEqual(self.normalized(got), wanted, typed)
            finally:
                shell.close()

    def normalized(self, got):
        return " ".join(got.replace("=", " ").split())


class Bash(Interactive, unittest.TestCase):
    shell, words = "bash", ("bash", "--norc", "--noprofile", "-i")
    begin = "source ./script; muster() { echo \"ARGS<$*>\"; }; echo begun-$((6*7))\n"

    def offered(self, line):
        words = line.split(" ")
        asked = ('source /dev/stdin; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                 '_muster; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", asked, "bash", *words], input=script("bash"),
                              capture_output=True, text=True, timeout=60, env=support.ENVIRONMENT)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_every_flag_of_every_command_is_offered(self):
        help_text = support.run("--help").stdout
        verbs = re.findall(r"^  ([a-z][a-z-]*)  ", help_text, re.M)
        self.assertLessEqual(set(verbs), set(self.offered("muster ")))
        for verb in verbs:
            flags_of = support.run(verb, "--help-all" if verb == "serve" else "--help").stdout
            flags = re.findall(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)", flags_of, re.M)
            self.assertEqual(set(flags) - set(self.offered(f"muster {verb} --")), set(), verb)

    def test_values_of_a_flag_are_offered_after_it(self):
        self.assertEqual(self.offered("muster tasks --output "), ["table", "json"])
        self.assertEqual(self.offered("muster tasks --output = j"), ["json"])
        self.assertEqual(self.offered("muster tasks --url "), [])
        self.assertEqual(self.offered("muster run -- "), [])


class Zsh(Interactive, unittest.TestCase):
    shell, words = "zsh", ("zsh", "-f", "-i")
    # Without this style, zsh inserts a tab that is followed by text, as if it were pasted.
    begin = ("unsetopt zle_bracketed_paste; zstyle ':completion:*' insert-tab false; "
             "autoload -U compinit && compinit -u -D; source ./script; "
             "muster() { print -r -- \"ARGS<$*>\"; }; echo begun-$((6*7))\n")

    def test_script_works_as_an_fpath_file(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "_muster").write_text(script("zsh"))
            asked = f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; print $_comps[muster]"
            done = subprocess.run(["zsh", "-f", "-c", asked], capture_output=True, text=True,
                                  timeout=60, env=support.ENVIRONMENT)
            self.assertEqual((done.stdout.strip(), done.stderr), ("_muster", ""))


class Fish(unittest.TestCase):
    def offered(self, line):
        with tempfile.TemporaryDirectory() as home:
            pathlib.Path(home, "mine.toml").touch()
            pathlib.Path(home, "script").write_text(script("fish"))
            done = subprocess.run(["fish", "--no-config", "-c", f"source script; complete -C '{line}'"],
                                  capture_output=True, text=True, timeout=60, cwd=home,
                                  env={**support.ENVIRONMENT, "HOME": home})
        self.assertEqual(done.stderr, "")
        return {offer.partition("\t")[0] for offer in done.stdout.splitlines()}

    def test_commands_flags_values_and_files_are_offered(self):
        self.assertEqual(self.offered("muster tas"), {"tasks"})
        self.assertLessEqual({"serve", "worker", "top"}, self.offered("muster "))
        self.assertLessEqual({"--output", "--state", "--url"}, self.offered("muster tasks --"))
        self.assertNotIn("--log-level", self.offered("muster tasks --"))
        self.assertEqual(self.offered("muster tasks --output "), {"table", "json"})
        if WITH_BENCH:
            self.assertEqual(self.offered("muster bench sess"), {"sessions"})
        self.assertIn("mine.toml", self.offered("muster serve --config mi"))
        self.assertLessEqual({"get", "put"}, self.offered("muster kv "))
        self.assertEqual(self.offered("muster tasks mi"), set())


class Wrong(unittest.TestCase):
    def test_unknown_shell_is_a_usage_error(self):
        done = support.run("completion", "csh")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("csh", done.stderr)


support.main()
