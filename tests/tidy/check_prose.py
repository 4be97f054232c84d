"""scripts/prose marks the sentences that it is for, leaves plain ones, and finds no area above its limit.

  check_prose.py PROJECT_FOLDER
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(sys.argv[1]) / "scripts/prose"
MARKED = ("What comes together is one post.", "Of the last two, the newest is shown.", "It is told to whoever asks.",
          "The page is none.", "A variable is no argument.", "The one of before is kept.", "Nobody is asked.",
          "The oldest goes away.", "Those of the core are first.", "It is sent to who answers.")
PLAIN = ("There is no limit.", "It is one of three.", "What happens next?", "What happened", "There is none.", "Each is one of four.",
         "Tell the server which worker failed.", "It is no longer used.", "By default, it is off.", "It says what to do.",
         "None of the workers is connected.", "The worker goes to the next call.", "A job that nothing waits for is deleted.")
FILES = {
    "a.md": ("# What a title\n\nPlain text.\n\n```sh\n# What is code\n```\n\n- Nobody knows.\n", 2),
    "a.cpp": ('// What this\n// returns.\nauto a = "x of "  // y\n   "before";\nauto b = "It is "\n  "told";\nchar c = \'"\';\n', 2),
    "a.py": ('"""What this returns."""\nx = "It is told"  # of before\n', 3),
    "a.sh": ('#!/bin/sh\n# What it does\necho "nobody answers"\n', 2),
    "CMakeLists.txt": ("# Nothing of it is built\nset(x 1)\n", 1),
}


def load():
    loader = importlib.machinery.SourceFileLoader("prose", str(SCRIPT))
    spec = importlib.util.spec_from_loader("prose", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module
    loader.exec_module(module)
    return module


def marks(prose, folder, name, text):
    file = pathlib.Path(folder, name)
    file.write_text(text)
    return prose.count(file).marks


prose = load()
with tempfile.TemporaryDirectory() as folder:
    for sentence in MARKED:
        assert marks(prose, folder, "a.md", sentence) > 0, f"not marked: {sentence}"
    for sentence in PLAIN:
        assert marks(prose, folder, "a.md", sentence) == 0, f"marked: {sentence}"
    for name, (text, expected) in FILES.items():
        assert marks(prose, folder, name, text) == expected, (name, marks(prose, folder, name, text))
sys.exit(subprocess.run([SCRIPT, "--check"]).returncode)
