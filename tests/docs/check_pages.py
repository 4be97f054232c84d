"""Links and anchors of all pages lead somewhere, as do the names of pages in code and messages, the navigation of the site has
each page of docs/ once, and the commands of each page that is a task are run by a test.

  check_pages.py PROJECT_FOLDER
"""
import pathlib
import re
import sys
import unittest

from markdown import anchors_of, blocks_of, links_of, pages

PROJECT = pathlib.Path(sys.argv.pop())
TASKS = ("Get started", "How-to guides", "Coming from")
"""Sections of the navigation whose commands and programs must run."""


def navigation(*sections):
    """Returns the pages and folders that mkdocs.yml lists in these sections, or in all.

    The file has a tag that only MkDocs can read.
    """
    text = (PROJECT / "mkdocs.yml").read_text()
    found = re.split(r"^  - ", text[text.index("\nnav:"):], flags=re.M)[1:]
    return [page for section in found if not sections or section.startswith(tuple(f"{name}:" for name in sections))
            for page in re.findall(r"^(?: +- )?(?:[^:\n]+: )?(\S+(?:\.md|/))$", section, re.M)]


PAGE_NAME = re.compile(r"\bdocs/([\w./-]+\.md)(?:#([\w-]+))?")
NOT_SOURCES = ("build", "node_modules", "dist", "site")


def sources(folder):
    """Yields the text files below a folder, but not what was built or installed there."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in NOT_SOURCES or path.is_symlink():
            continue
        if path.is_dir():
            yield from sources(path)
        elif path.stat().st_size < 1 << 20:
            yield path


def runs(page):
    """Returns whether a page has a block that a reader can run."""
    return any(block.language in ("sh", "python") and not block.comment.startswith("not run:") for block in blocks_of(page.read_text()))


class Pages(unittest.TestCase):
    def test_link_targets_exist(self):
        for page in pages(PROJECT):
            for path, anchor in links_of(page.read_text()):
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.relative_to(PROJECT), target=f"{path}#{anchor}"):
                    self.assertTrue(target.exists(), "there is no such file")
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors_of(target.read_text()))

    def test_pages_named_in_code_and_messages_exist(self):
        anchors = {}
        for file in sources(PROJECT):
            text = file.read_bytes().decode(errors="replace")
            for found in PAGE_NAME.finditer(text):
                name, anchor = found.groups()
                page = PROJECT / "docs" / name
                with self.subTest(file=f"{file.relative_to(PROJECT)}:{text.count(chr(10), 0, found.start()) + 1}", page=found[0]):
                    self.assertTrue(page.is_file(), "there is no such page")
                    if anchor:
                        if page not in anchors:
                            anchors[page] = anchors_of(page.read_text())
                        self.assertIn(anchor, anchors[page])

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

    def test_how_to_pages_are_executed(self):
        listed = re.search(r"set\(pages\s([^)]*)\)", (PROJECT / "tests/docs/CMakeLists.txt").read_text())[1].split()
        for name in navigation(*TASKS):
            page = PROJECT / "docs" / name
            if page.is_file() and runs(page):
                self.assertIn(name[:-len(".md")], listed, f"add {name} to tests/docs/CMakeLists.txt, or say why a block is not run")
        for name in listed:
            self.assertTrue((PROJECT / "docs" / f"{name}.md").is_file(), f"tests/docs/CMakeLists.txt lists {name}, which does not exist")


if __name__ == "__main__":
    unittest.main()
