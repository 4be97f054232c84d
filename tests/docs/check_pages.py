"""Links and anchors of all pages lead somewhere, and the navigation of the site has each page of docs/ once.

  check_pages.py PROJECT_FOLDER
"""
import pathlib
import re
import sys
import unittest

from markdown import anchors_of, links_of, pages

PROJECT = pathlib.Path(sys.argv.pop())


def navigation():
    """Returns the pages and folders that mkdocs.yml lists; it has a tag that only MkDocs can read."""
    text = (PROJECT / "mkdocs.yml").read_text()
    return re.findall(r"^ +- (?:[^:\n]+: )?(\S+)$", text[text.index("\nnav:"):], re.M)


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in pages(PROJECT):
            for path, anchor in links_of(page.read_text()):
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.relative_to(PROJECT), target=f"{path}#{anchor}"):
                    self.assertTrue(target.exists(), "there is no such file")
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors_of(target.read_text()))

    def test_navigation_has_each_page_once(self):
        listed = navigation()
        self.assertEqual(sorted(listed), sorted(set(listed)))
        for entry in listed:
            if not entry.startswith(("reference/", "repository/")):
                self.assertTrue((PROJECT / "docs" / entry).exists(), f"mkdocs.yml lists {entry}, which does not exist")
        folders = tuple(entry for entry in listed if entry.endswith("/"))
        for page in (PROJECT / "docs").rglob("*.md"):
            name = page.relative_to(PROJECT / "docs").as_posix()
            self.assertTrue(name in listed or name.startswith(folders), f"{name} is not in the navigation of mkdocs.yml")


if __name__ == "__main__":
    unittest.main()
