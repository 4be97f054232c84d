"""Lists of pages are written for Python-Markdown as GitHub reads them.

  check_lists.py PROJECT_FOLDER
"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop() + "/scripts/site")
from lists import indented


class Lists(unittest.TestCase):
    def check(self, written, expected):
        self.assertEqual(indented(written), expected)

    def test_levels_are_indented_by_four_spaces(self):
        self.check("- a\n  - b\n    c\n- d", "- a\n    - b\n        c\n- d")
        self.check("1. a\n\n   b\n2. c", "1. a\n\n    b\n2. c")

    def test_code_blocks_are_indented_with_their_item(self):
        self.check("1. a:\n\n   ```sh\n   x\n     y\n   ```\n\n2. b", "1. a:\n\n    ```sh\n    x\n      y\n    ```\n\n2. b")

    def test_lists_in_code_are_unchanged(self):
        self.check("```text\n- a\n  - b\n```", "```text\n- a\n  - b\n```")

    def test_blank_line_is_added_before_a_list(self):
        self.check("text:\n- a\n- b", "text:\n\n- a\n- b")

    def test_no_blank_line_is_added_between_items(self):
        self.check("1. a\n2. b\n   c\n3. d", "1. a\n2. b\n    c\n3. d")

    def test_unindented_text_ends_a_list(self):
        self.check("- a\n\ntext\n\n- b", "- a\n\ntext\n\n- b")

    def test_number_in_a_sentence_starts_no_list(self):
        self.check("it is\n403. Then", "it is\n403\\. Then")
        self.check("- it is\n  403. Then", "- it is\n    403\\. Then")


if __name__ == "__main__":
    unittest.main()
