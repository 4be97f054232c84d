"""Edge cases of the scripts for developers. Builds and runs nothing: check_scripts.py SOURCE"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
TEST = re.compile(r"muster_(?:program_)?test\([^()]*?\bLABELS ([^()]*?)(?: [A-Z]|\))")
TARGET = re.compile(r"add_custom_target\(tests_of_(\w+)")


def each_label_that_check_asks_for_has_a_target():
    """scripts/test builds the target tests_of_LABEL for each label."""
    cases = re.findall(r"^ +[^()]+\) echo ([a-z0-9 ]+) ;;$", (SOURCE / "scripts/check").read_text(), re.MULTILINE)
    asked = {"tidy", "core", *" ".join(cases).split()}
    assert len(asked) > 8, asked
    there = set()
    for file in (SOURCE / "tests").rglob("CMakeLists.txt"):
        text = re.sub(r"#.*", "", file.read_text())
        there.update(TARGET.findall(text))
        for labels in TEST.findall(text):
            there.update(labels.split())
    assert asked <= there, f"no target tests_of_…: {', '.join(sorted(asked - there))}"


def what_a_sanitizer_finds_is_not_run_again():
    """Uses a ctest that prints its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        ctest = pathlib.Path(folder, "ctest")
        ctest.write_text('#!/bin/sh\necho "$@"\n')
        ctest.chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        for preset, again in ("release", True), ("asan", False), ("tsan", False):
            words = [SOURCE / "scripts/test", "--preset", preset, "--built"]
            said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
            assert f"--preset {preset}" in said and ("--repeat until-pass:2" in said) == again, said


def a_commit_that_does_not_exist_is_no_pass():
    run = subprocess.run([SOURCE / "scripts/check", "--list", "--since", "no-such-commit"], capture_output=True, text=True)
    assert run.returncode == 2 and "there is no commit 'no-such-commit'" in run.stderr, run


def reproduce_names_what_does_not_exist():
    cases = {"no-such-commit": "commit 'no-such-commit' does not exist", "HEAD": "Shows that a fault existed",
             "--no-such-option": "unknown option '--no-such-option'"}
    for word, message in cases.items():
        words = [SOURCE / "scripts/reproduce", word, *(["a.b"] if word == "no-such-commit" else [])]
        run = subprocess.run(words, capture_output=True, text=True)
        assert run.returncode == 2 and message in run.stderr, run


def nightly_continues_after_the_parts_that_have_passed():
    """Also adds up all lines of the results, and refuses unknown parts."""
    script = SOURCE / "scripts/nightly"
    parts = subprocess.run([script, "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert "robustness" in parts and "simulation" in parts, parts
    run = subprocess.run([script, "--only", "no-such-part"], capture_output=True, text=True)
    assert run.returncode == 2 and "there is no part 'no-such-part'" in run.stderr, run
    git = ["git", "-C", SOURCE]
    commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    if subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, check=True).stdout:
        commit += "-changed"
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, "results.tsv")
        results.write_text("part\tcommit\tseed\tcommand\toutcome\tseconds\tcount\tfaults\n" + "".join(
            f"robustness\t{of}\t{seed}\tx\t{outcome}\t60\t1000\t7\n"
            for of, seed, outcome in (("0123", 1000, "FAILED"), (commit, 2000, "passed"))))
        run = subprocess.run([script, "--only", "robustness", "--continue", "--results", results], capture_output=True, text=True)
        assert run.returncode == 0 and "passed  robustness, in an earlier run" in run.stdout, run
        assert "2000 operations, 14 faults, 2 runs, 1 failed, 2 min" in run.stdout, run


def the_page_of_results_contains_each_part():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {
                "nightly": "part\tcommit\tseed\tcommand\toutcome\tseconds\tcount\tfaults\n"
                           "asan\tc1\t\tscripts/test <x>\tFAILED\t60\t5000\t\nasan\tc2\t\tscripts/test <x>\tpassed\t61\t5001\t\n",
                "mutation": "mutant\tdigest\tcommit\tstage\tnoticed_by\tseconds\nm1\td\tc2\tunit\tA.b\t1.0\nm2\td\tc2\tnone\t\t9.0\n",
                "faults": "kind\tframework\tcommit\tverdict\tnamed\tseconds_to_name\tseconds_to_next_step\texact\tattempts\ttext\n"
                          "sigkill\tjax\tc2\texpected\tyes\t0.5\t2.5\tyes\t2\t\n"}.items():
            pathlib.Path(folder, name).mkdir()
            pathlib.Path(folder, name, "results.tsv").write_text(text)
        subprocess.run([SOURCE / "scripts/results-page", "--folder", folder], check=True, stderr=subprocess.DEVNULL)
        page = pathlib.Path(folder, "nightly/index.html").read_text()
    for text in ("scripts/test &lt;x&gt;", '<td class="number">5001</td>', "noticed 1 of 2 deliberate bugs",
                 "1 of 1 runs ended as expected", '<span class="failed">none</span>'):
        assert text in page, text
    newest = page[:page.index("All runs")]
    assert "5001" in newest and "5000" not in newest, newest


def bytes_that_are_no_text_end_no_run():
    said = b"1/1 Test #1: a.b ...***Failed\n\xff \xe2\x80\xa6\n1/1 Test #1: a.b ... Passed\n100% tests passed\n"
    with tempfile.TemporaryDirectory() as folder:
        names = pathlib.Path(folder, "names")
        for variables in {}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}:
            told = subprocess.run([SOURCE / "scripts/flaky", "--report", names], input=said, check=True,
                                  env={**os.environ, **variables}, stdout=subprocess.PIPE).stdout.decode()
            assert names.read_text() == "a.b\n" and "FLAKY a.b" in told and "\ufffd \u2026\n" in told, told


for check in (each_label_that_check_asks_for_has_a_target, what_a_sanitizer_finds_is_not_run_again,
              a_commit_that_does_not_exist_is_no_pass, nightly_continues_after_the_parts_that_have_passed,
              reproduce_names_what_does_not_exist, the_page_of_results_contains_each_part, bytes_that_are_no_text_end_no_run):
    print(check.__name__.replace("_", " "))
    check()
