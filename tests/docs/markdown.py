"""Reads pages: their blocks of code, links and anchors."""
import pathlib
import re
import typing

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ \t]*$", re.S | re.M)
COMMENT = re.compile(r"<!-- *((?:(?!-->).)*?) *-->[ \t]*\n[ \t]*\Z", re.S)
FILE_NAME = re.compile(r"\b(?:save|write|create|put)\b[^`]*`(?:\./)?([\w-]+\.\w+)`", re.I)


class Block(typing.NamedTuple):
    language: str
    text: str
    line: int
    comment: str  # the one directly above it
    file: str  # the name that the sentence above says to save it as
    started: bool  # and whether it says to start it


def blocks_of(markdown):
    """Yields the blocks of code in order."""
    for found in FENCE.finditer(markdown):
        above = markdown[:found.start()]
        comment = COMMENT.search(above)
        above = above[:comment.start()] if comment else above
        sentence = above.rstrip().rpartition("\n\n")[2]
        name = FILE_NAME.findall(sentence)
        text = re.sub(rf"^ {{{len(found['indent'])}}}", "", found["text"], flags=re.M)
        yield Block(found["language"], text, markdown.count("\n", 0, found.start()) + 1, comment[1] if comment else "",
                    name[-1] if name else "", bool(name) and f"`python {name[-1]}`" in sentence)


def without_code(markdown):
    return FENCE.sub("", markdown)


def anchors_of(markdown):
    """Returns the anchors that GitHub gives to headings; the site's are the same."""
    anchors: dict = {}
    for heading in re.findall(r"^#+ (.+)$", without_code(markdown), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        number = anchors.get(anchor, 0)
        anchors[anchor] = number + 1
        if number:
            anchors[f"{anchor}-{number}"] = 1
    return set(anchors) | set(re.findall(r'<a (?:id|name)="([^"]+)"', markdown))


def links_of(markdown):
    """Yields the targets of links within the repository, as path and anchor."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(markdown)):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


def pages(project: pathlib.Path):
    """Returns all Markdown files that people read on GitHub."""
    return [*sorted(project.glob("*.md")), *sorted((project / "docs").rglob("*.md")), *sorted(project.glob("*/README.md")),
            *sorted(project.glob("*/*/README.md"))]
