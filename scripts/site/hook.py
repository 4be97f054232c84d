"""A hook of MkDocs, named in mkdocs.yml.

It adds the generated pages (command line, Python, C++), makes links out of docs/ lead to copies of the
repository's files below `repository/`, and indents lists as Python-Markdown expects them, so that the pages
can be written as GitHub renders them.
"""
from __future__ import annotations

import ast
import os
import pathlib
import posixpath
import re
import subprocess
import sys
import tempfile
from typing import Any, Iterator

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lists
import man

TOP = pathlib.Path(__file__).parents[2]
LINK = re.compile(r'(?P<before>\]\(|(?:src|srcset|href)=")(?P<target>[^)"\s#:]+)(?P<anchor>#[^)"\s]*)?(?=[)"\s])')
FENCED = re.compile(r"(^[ \t]*```.*?^[ \t]*```[ \t]*$)", re.M | re.S)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
             ".json": "json", ".proto": "protobuf", ".cmake": "cmake", ".mjs": "javascript", ".ts": "typescript"}
BINARY = (".png", ".svg", ".jpg", ".gif")
PYTHON_TITLES = {"agent": "Coordination client", "coordinator": "Coordinator and values", "distribute": "Distribute coordinator",
                 "errors": "Errors", "executor": "Executor", "local": "Local cluster", "objects": "Objects and datasets",
                 "resolvers": "Resolvers", "rest": "REST client and programs", "steps": "Steps", "variables": "Variables",
                 "worker": "Worker"}
PYTHON_MODULES = {"muster.distribute": "Distribute coordinator", "muster.jax": "JAX", "muster.joblib": "joblib",
                  "muster.tensorflow": "TensorFlow", "muster.tf_compat": "TensorFlow compatibility"}


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages and the files that pages link to, and writes folders of the navigation out."""
    for path, text in {**command_line(), **python_api()}.items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "assets/iframe-worker.js", abs_src_path=str(TOP / "build/docs/package/shim/index.js")))
    add_cpp(files, config)
    add_repository(files, config)
    config.nav = list(with_folders(config.nav, sorted(file.src_uri for file in files.documentation_pages())))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrites links and lists of a page that was written by hand."""
    path = page.file.src_uri
    if path.startswith("reference/"):
        return markdown
    if path.startswith(("decisions/", "repository/")):
        page.meta["search"] = {"boost": 0.3}
    origin = path[len("repository/"):] if path.startswith("repository/") else "docs/" + path

    def rewritten(link: re.Match[str]) -> str:
        there = home_of(origin, link["target"])
        if there is None:
            return link[0]
        anchor = "" if there.endswith(".md") and not link["target"].endswith((".md", "/")) else link["anchor"] or ""
        return link["before"] + posixpath.relpath(there, posixpath.dirname(path) or ".") + anchor

    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(rewritten, part) for part in parts[::2]]
    return lists.indented("".join(parts))


def with_folders(nav: list[Any], pages: list[str]) -> Iterator[Any]:
    """Yields the entries of a navigation, with all pages of a folder for an entry that ends with a slash."""
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/"):
            found = [page for page in pages if page.startswith(entry)]
            yield from sorted(found, key=lambda page: (posixpath.basename(page) not in ("index.md", "README.md"), page))
        elif isinstance(entry, dict):
            for title, below in entry.items():
                folder = [below] if isinstance(below, str) and below.endswith("/") else below
                inside = list(with_folders(folder, pages)) if isinstance(folder, list) else folder
                if inside:
                    yield {title: inside}
        else:
            yield entry


def command_line() -> dict[str, str]:
    """Returns a page for each command, made of its man page; none if MUSTER_BINARY is not set."""
    binary = os.environ.get("MUSTER_BINARY")
    if not binary:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", "--dir", folder], check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
        return {"reference/cli/" + ("index.md" if page.stem == "muster" else page.stem + ".md"): man.markdown(page.read_text())
                for page in pathlib.Path(folder).glob("*.1")}


def python_api() -> dict[str, str]:
    """Returns pages of mkdocstrings: one for each part of the package, and one for each public module."""
    tree = ast.parse((TOP / "python/muster/__init__.py").read_text())
    (homes,) = (ast.literal_eval(node.value) for node in tree.body
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOMES")
    parts: dict[str, list[str]] = {}
    for home, names in homes.items():
        parts.setdefault(home.split(".")[1], []).extend(f"muster.{name}" for name in names.split())
    pages = {f"reference/python/{part}.md": f"# {PYTHON_TITLES[part]}\n\n" + "".join(f"::: {name}\n\n" for name in sorted(names))
             for part, names in parts.items()}
    for module, title in PYTHON_MODULES.items():
        pages[f"reference/python/{module}.md"] = f"# {title} (`{module}`)\n\n::: {module}\n    options:\n      members_order: source\n"
    listed = "".join(f"- [{PYTHON_TITLES[part]}]({part}.md): " + ", ".join(f"`{name}`" for name in sorted(names)) + "\n"
                     for part, names in sorted(parts.items(), key=lambda item: PYTHON_TITLES[item[0]]))
    listed += "".join(f"- [{title}]({module}.md): module `{module}`\n" for module, title in PYTHON_MODULES.items())
    pages["reference/python/index.md"] = "# Python API\n\nThe public names of the package `muster`, by subject.\n\n" + listed
    return pages


def add_cpp(files: Any, config: Any) -> None:
    """Adds the output of Doxygen, which scripts/docs has made, and a page that links to it."""
    made = TOP / "build/docs/doxygen/html"
    if not made.is_dir():
        return
    for file in sorted(path for path in made.rglob("*") if path.is_file()):
        files.append(File.generated(config, f"reference/cpp/{file.relative_to(made).as_posix()}", abs_src_path=str(file)))
    files.append(File.generated(config, "reference/cpp.md", content=(
        "# C++ API\n\nThe public headers of the C++ client, `#include \"muster/….hpp\"`.\n\n"
        "- [Classes](cpp/annotated.html)\n- [Headers](cpp/files.html)\n- [Members](cpp/functions.html)\n\n"
        "[The C++ client](../cpp.md) shows complete programs.\n")))


def home_of(origin: str, target: str) -> str | None:
    """Returns the page or file of the site that `target` of the repository's file `origin` leads to.

    None if the link needs no change: it stays within docs/, or it leads nowhere, which MkDocs reports.
    """
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    there = TOP / path
    if path.startswith("..") or not there.exists():
        return None
    if there.is_dir():
        path = posixpath.join(path, "README.md")
    elif not path.endswith((".md", *BINARY)):
        path += ".md"
    if not path.startswith("docs/"):
        return "repository/" + path
    return None if origin.startswith("docs/") and not there.is_dir() else path[len("docs/"):]


def add_repository(files: Any, config: Any) -> None:
    """Adds copies of the repository's files that pages link to, and of those that these link to."""
    todo = [("docs/" + file.src_uri, pathlib.Path(file.abs_src_path).read_text())
            for file in files.documentation_pages() if file.abs_src_path]
    todo.append(("", "[in](CHANGELOG.md) [the](CONTRIBUTING.md) [navigation](SECURITY.md)"))
    while todo:
        origin, text = todo.pop()
        for link in LINK.finditer("".join(FENCED.split(text)[::2])):
            there = home_of(origin, link["target"])
            if there is None or not there.startswith("repository/") or files.get_file_from_path(there):
                continue
            path = there[len("repository/"):]
            source = TOP / path
            if path.endswith(BINARY):
                files.append(File.generated(config, there, abs_src_path=str(source)))
                continue
            content = source.read_text() if source.exists() else page_of(source.with_suffix("") if source.suffix == ".md" else source)
            files.append(File.generated(config, there, content=content))
            if source.exists():
                todo.append((path, content))


def page_of(source: pathlib.Path) -> str:
    """Returns a page that shows a file, or lists a folder that has no README.md."""
    if source.name == "README":
        folder = source.parent
        return f"# {folder.relative_to(TOP)}\n\n" + "".join(
            f"- `{file.name}`\n" for file in sorted(folder.iterdir()) if not file.name.startswith((".", "__")))
    text = source.read_text()
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"# {source.relative_to(TOP)}\n\n{fence}{LANGUAGES.get(source.suffix, 'text')}\n{text}{fence}\n"
