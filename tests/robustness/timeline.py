"""An HTML page of the histories of a round: rows are clients, boxes are operations, bands are faults."""
from __future__ import annotations

import html
import pathlib
import re
from typing import Any, Iterator

from recorder import read

BOXES_MAX = 20_000
"""Operations on a page. Beyond it, those far from a violation are left out."""
IDENTITIES = ("id", "object", "variable", "dataset", "key", "name", "element", "program", "stream", "marks")
"""Fields of a record that a violation can name."""
STYLE = """*{box-sizing:border-box}body{font:13px sans-serif;margin:1em}ol{color:#b00}ul{columns:3}
.chart{display:flex;border:1px solid #999}.names{flex:none}.names div,.row{height:22px;line-height:22px;border-bottom:1px solid #ddd}
.names div{padding:0 6px}.scroll{overflow-x:auto;flex:auto}.time{position:relative}
.time i{position:absolute;top:0;bottom:0;border-left:1px solid #eee;font-style:normal;color:#777}
svg{display:block;width:100%}"""


def write(page: pathlib.Path, folder: pathlib.Path, violations: list[str]) -> None:
    """Writes the page of a round. Operations that a violation names are red."""
    named = set(re.findall(r"[\w./-]+", " ".join(violations)))
    boxes = [box for path in sorted(folder.glob("history-*.jsonl")) if path.stem not in ("history-keys", "history-nemesis")
             for box in boxes_of(path, named)]
    bands = list(bands_of(folder / "history-nemesis.jsonl"))
    times = [box["begin"] for box in boxes] + [band[1] for band in bands]
    start = min(times, default=0)
    end = max([box["end"] for box in boxes] + [band[2] for band in bands], default=start + 1)
    boxes, left_out = nearest(boxes)
    rows = sorted({box["row"] for box in boxes})
    page.write_text(document(rows, boxes, bands, violations, left_out, start, end))


def boxes_of(path: pathlib.Path, named: set[str]) -> Iterator[dict[str, Any]]:
    """Yields the operations of one client."""
    for record in read(path):
        begin = record.get("call", record.get("at", record.get("ret")))
        if begin is None:
            continue
        end = record.get("ret", record.get("return", begin))
        use = record.get("use")
        violates = any(str(record[field]) in named for field in IDENTITIES if field in record) or (
            use is not None and str(use) in named and record.get("kind") == "barrier" and "barrier" in named)
        text = ", ".join(f"{name} {value}" for name, value in record.items() if name not in ("call", "ret", "return", "at"))
        yield {"row": path.stem.removeprefix("history-"), "begin": begin, "end": max(end, begin), "text": text[:500],
               "violates": violates, "known": record.get("outcome", "ok") == "ok"}


def bands_of(path: pathlib.Path) -> Iterator[tuple[str, int, int]]:
    """Yields name, begin and end of each fault."""
    begun: dict[str, int] = {}
    for record in read(path):
        if record.get("event") == "begin":
            begun[record["name"]] = record["at"]
        elif record.get("event") == "end":
            yield record["name"], begun.pop(record["name"], record["at"]), record["at"]
    for name, at in begun.items():
        yield name, at, at + 1_000_000_000


def nearest(boxes: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Returns the operations that are nearest to a violation, and how many others there are."""
    if len(boxes) <= BOXES_MAX:
        return boxes, 0
    marked = [box["begin"] for box in boxes if box["violates"]] or [max(box["end"] for box in boxes)]
    near = sorted(boxes, key=lambda box: (not box["violates"], min(abs(box["begin"] - at) for at in marked[:50])))
    return near[:BOXES_MAX], len(boxes) - BOXES_MAX


def document(rows: list[str], boxes: list[dict[str, Any]], bands: list[tuple[str, int, int]], violations: list[str],
             left_out: int, start: int, end: int) -> str:
    span, height = max(end - start, 1) / 1e6, 22 * len(rows)

    def position(at: int) -> str:
        return f"{(at - start) / 1e6:.2f}"

    def rectangle(begin: int, stop: int, top: int, tall: int, fill: str, title: str) -> str:
        wide = max((stop - begin) / 1e6, span / 20_000)
        return (f'<rect x="{position(begin)}" y="{top}" width="{wide:.2f}" height="{tall}" fill="{fill}">'
                f"<title>{html.escape(title)}</title></rect>")

    shapes = [rectangle(begin, stop, 0, height, "#f6c65b66", f"{name}, {(stop - begin) / 1e9:.2f} s")
              for name, begin, stop in bands]
    for box in sorted(boxes, key=lambda box: bool(box["violates"])):
        fill = "#c00" if box["violates"] else "#4a90d9" if box["known"] else "#999"
        at = f"at {(box['begin'] - start) / 1e9:.3f} s, {(box['end'] - box['begin']) / 1e6:.1f} ms: {box['text']}"
        shapes.append(rectangle(box["begin"], box["end"], 22 * rows.index(box["row"]) + 3, 16, fill, at))
    ticks = "".join(f'<i style="left:{100 * s * 1000 / span:.3f}%">{s} s</i>' for s in range(0, int(span / 1000) + 1, 5))
    names = "".join(f"<div>{html.escape(row)}</div>" for row in rows)
    items = "".join(f"<li>{html.escape(violation)}</li>" for violation in violations)
    faults = "".join(f"<li>{html.escape(name)}: {(begin - start) / 1e9:.3f} s to {(stop - start) / 1e9:.3f} s</li>"
                     for name, begin, stop in bands)
    note = f"<p>{left_out} operations far from a violation are left out.</p>" if left_out else ""
    return f"""<!doctype html><meta charset="utf-8"><title>History with violations</title><style>{STYLE}</style>
<h1>Violations</h1><ol>{items}</ol>
<p>Rows are clients. Blue: operations with an answer. Grey: without one. Red: named by a violation. Yellow: faults.
Point at a box to read it. Width: <input type="range" min="100" max="10000" value="100"
oninput="document.getElementById('time').style.width=this.value+'%'"></p>{note}
<div class="chart"><div class="names"><div></div>{names}</div><div class="scroll"><div id="time" class="time">
<div class="row">{ticks}</div><svg viewBox="0 0 {span:.2f} {height}" height="{height}" preserveAspectRatio="none">{''.join(shapes)}</svg>
</div></div></div><h2>Faults</h2><ul>{faults}</ul>
"""
