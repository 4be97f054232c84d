"""The messages that docs/error-messages.md lists are messages of the program.

  check_messages.py PROJECT_FOLDER
"""
import pathlib
import re
import sys
import unittest

PROJECT = pathlib.Path(sys.argv.pop())
FOLDERS = ("app", "base", "cli", "client", "launch", "python/muster", "server", "web")
TOKEN = re.compile(r"""(?P<comment>//[^\n]*)|'(?:[^'\\\n]|\\.)'|[fr]{0,2}"(?P<text>(?:[^"\\\n]|\\.)*)\"""")
"""A comment, a character, or a string literal."""
LETTERS_MIN = 8
"""Shorter pieces of a message, such as "is at", are found anywhere."""


def literals_of(text):
    """Yields string literals. The compiler joins literals that only white space separates."""
    joined, end = "", 0
    for token in TOKEN.finditer(text):
        if token["text"] is None:
            continue
        if text[end:token.start()].strip():
            yield joined
            joined = ""
        joined += token["text"]
        end = token.end()
    yield joined


def literals():
    """Returns the string literals of the program, one a line. A value inside an f-string ends its line."""
    texts = []
    for folder in FOLDERS:
        for file in (PROJECT / folder).rglob("*"):
            if file.suffix in (".cpp", ".hpp", ".h", ".py", ".ts", ".tsx") and "node_modules" not in file.parts:
                texts += literals_of(file.read_text(errors="replace"))
    return "\n".join(re.sub(r"\{[^}]*\}", "\n", t.replace('\\"', '"')) for t in texts)


def listed():
    """Yields line number and message of each row of a table whose first column is `message`."""
    is_table = False
    for number, line in enumerate((PROJECT / "docs/error-messages.md").read_text().splitlines(), 1):
        if not line.startswith("|"):
            is_table = False
        elif line.startswith("| message |"):
            is_table = True
        elif is_table and not line.startswith("|---"):
            for message in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                yield number, message


class Messages(unittest.TestCase):
    def test_each_part_of_a_listed_message_is_in_the_program(self):
        program = literals()
        count = 0
        for number, message in listed():
            for part in message.split("…"):
                if sum(c.isalpha() for c in part) >= LETTERS_MIN:
                    count += 1
                    with self.subTest(line=number, message=message):
                        self.assertTrue(part.strip() in program, part)
        self.assertGreater(count, 50)


if __name__ == "__main__":
    unittest.main()
