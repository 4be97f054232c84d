"""What the scripts of developers do at their edges, with nothing built and nothing run: check_scripts.py SOURCE"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
TEST = re.compile(r"muster_(?:program_)?test\([^()]*?\bLABELS ([^()]*?)(?: [A-Z]|\))")
TARGET = re.compile(r"add_custom_target\(tests_of_(\w+)")


def each_label_that_check_asks_for_has_a_target():
    """scripts/test builds tests_of_LABEL for each."""
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


for check in (each_label_that_check_asks_for_has_a_target,):
    print(check.__name__.replace("_", " "))
    check()
