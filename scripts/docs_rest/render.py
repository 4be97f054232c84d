"""Turns recorded answers into pages that are the same after each run: ids, times and measurements are replaced."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from docs_rest.scenario import Answer
from docs_rest.texts import OPERATION_PARAMETERS, OPERATIONS, PARAMETERS

MARK = "<!-- scripts/docs-rest writes everything below this line. -->"
WIDTH = 100
LINES_MAX = 32
ITEMS_MAX = 3
LINE_MAX = 160
BASE_MS = 1_795_244_400_000
LATER = {
    "started_ms": 200,
    "finished_ms": 900,
    "ended_ms": 900,
    "expires_ms": 30 * 86_400_000,
    "last_seen_ms": 900,
    "seen_ms": 900,
    "now_ms": 900,
    "until_ms": 900,
    "time_ms": 300,
    "at_ms": 900,
    "came_ms": 300,
}
"""When these times are after BASE_MS. All others are BASE_MS."""
FIXED: dict[str, Any] = {
    "boot": "9f27c0de51a3b8e4",
    "host": "h1",
    "last_line": "step 39",
    "process": "S in hrtimer_nanosleep",
    "data_dir": "/var/lib/muster/data",
    "uptime_ms": 60_000,
    "duration_ms": 900,
    "lag_now_us": 40,
    "lag_p50_us": 30,
    "lag_p99_us": 200,
    "lag_max_us": 900,
    "resident_bytes": 50 << 20,
    "busy_cores": 0.25,
    "cores": 8,
    "open_files": 44,
    "open_files_max": 20_000,
    "sync_p50_us": 500,
    "sync_p99_us": 900,
    "sync_max_us": 1200,
    "pid": 4711,
    "cpus": 8,
    "cpu": 0.25,
    "memory_bytes": 1 << 30,
    "memory_total_bytes": 16 << 30,
    "free_bytes": 64 << 30,
    "disk_bytes": 1 << 20,
    "received_per_s": 2048,
    "sent_per_s": 2048,
    "read_per_s": 0,
    "written_per_s": 4096,
    "restored_in_ms": 0,
    "changes": 40,
    "changes_waiting": 0,
    "waiting_bytes": 0,
    "history_bytes": 65_536,
    "heartbeat_age_ms": 800,
    "silent_ms": 900,
    "waiting_ms": 50,
    "time_left_ms": 9_950,
    "late_ms": 1.5,
    "spread_ms": 1.5,
    "late_mean_ms": 1.5,
    "late_max_ms": 1.5,
    "busy_us": 12,
    "least_us": 4,
    "most_us": 8,
    "max_us": 8,
    "p50_us": 4,
    "p90_us": 8,
    "p99_us": 8,
    "up_to_us": 8,
    "ts": BASE_MS * 1000,
    "dur": 8,
    "usual_us": 50_000,
    "slow_us": 75_000,
    "bucket_us": 1_000_000,
    "epoch": 1,
    "moved_ms": 50,
    "changed_bytes": 0,
    "step": 40,
}
"""Values that differ from run to run, by the name of their member. Zeros stay, but for those of ALWAYS."""
FIXED.update(took_us=8, median_ms=50.0, least=36, most=36, busy_ms=120)
ALWAYS = {
    "cpu",
    "received_per_s",
    "sent_per_s",
    "read_per_s",
    "written_per_s",
    "heartbeat_age_ms",
    "least",
    "most",
    "median_ms",
    "p50_us",
    "least_us",
    "most_us",
    "busy_ms",
    "waiting_ms",
}
SERIES = {
    "running": (0, 0),
    "finished": (4, 2),
    "failed": (0, 0),
    "hb_p99": (400, 300),
    "run_p50_ms": (0.5, 0.5),
    "run_p99_ms": (8, 0),
    "wait_p50_ms": (0, 0),
    "wait_p99_ms": (4, 0),
    "start_us": (1000, 9000),
    "duration_us": (600, 100),
    "end_us": (50_000, 50_000),
    "took_us": (50_000, 0),
    "longest_us": (50_000, 0),
    "busy_ms": (0, 100),
    "ended": (0, 10),
    "count": (1, 0),
    "step": (1, 1),
    "t": (BASE_MS, 1000),
}
"""Columns of measurements: the first value, and the difference of the next one."""
OF_OPERATION: dict[str, dict[str, Any]] = {"getRankLog": {"size": 240}, "getPastStream": {"step_ms": 300_000}}
ID = re.compile(r"\b(prog|pw|ds|obj|wk)_[0-9a-f]{16}\b|\b(muster\.)?(admin|ops|wall)-[0-9a-f]{6}(\.[\w-]{43})?")
ADDRESS = re.compile(r"\b127\.0\.0\.1:\d+")
INCARNATION = re.compile(r"^(\d{17,20}|[0-9a-f]{16})$")
TOKEN = re.compile(r"^[a-z][0-9a-f]{16,}")


class Steady:
    """Replaces values that differ from run to run."""

    def __init__(self, grpc: str, http: str, folder: str) -> None:
        self.known = {grpc: "127.0.0.1:8476", http: "127.0.0.1:8477"}
        self.folder = folder
        self.ids: dict[str, str] = {}
        self.own: dict[str, Any] = {}

    def text(self, text: str) -> str:
        text = text.replace(self.folder + "/data", "/var/lib/muster/data").replace(self.folder, "/tmp/muster")
        text = ADDRESS.sub(lambda m: self.known.setdefault(m[0], f"127.0.0.1:{50_000 + len(self.known)}"), text)
        text = re.sub(r"\bfor \d+ ms\b", "for 5 ms", text)
        text = re.sub(r"\b179\d{10}\b", str(BASE_MS), text)
        return ID.sub(self.id, text)

    def id(self, found: re.Match[str]) -> str:
        if found[3]:  # a token: its id, or its secret
            name = f"{found[3]}-" + {"admin": "5b1e07", "ops": "a4cb9d", "wall": "4a76df"}[found[3]]
            return f"muster.{name}.…" if found[4] else name
        return self.ids.setdefault(found[0], f"{found[1]}_{0x000661251AB4EF31 + len(self.ids):016x}")

    def value(self, value: Any, name: str = "") -> Any:
        if name == "heartbeat_age_ms" and isinstance(value, dict):
            return {"p50": 400, "p99": 800, "max": 800}
        if name in self.own:
            return self.own[name]
        if isinstance(value, dict):
            if set(value) == {"state", "count"}:  # of a trace: executions that were added up
                value = {**value, "count": 2}
            return {key: self.value(of, key) for key, of in value.items()}
        if isinstance(value, list):
            if name == "rank":
                value = sorted(value)
            elif value and all(isinstance(of, dict) and "rank" in of for of in value):
                value = sorted(value, key=lambda of: of["rank"])
            elif value and all(isinstance(of, dict) and {"name", "busy_ms"} <= set(of) for of in value):
                value = sorted(value, key=lambda of: of["name"])
            if name in SERIES and all(isinstance(of, (int, float)) for of in value):
                return [round(SERIES[name][0] + SERIES[name][1] * n, 1) for n in range(min(len(value), ITEMS_MAX + 1))]
            if value and all(isinstance(of, str) and re.fullmatch(r"step \d+", of) for of in value):
                return [f"step {n + 30}" for n in range(min(len(value), ITEMS_MAX + 1))]
            return [self.value(of, name) for of in value]
        if isinstance(value, str):
            if name == "incarnation" and INCARNATION.match(value) and set(value) != {"0"}:
                return "11379712084993952197"
            if name == "next_page_token" and TOKEN.match(value):
                return value if int(value[1:17], 16) < 1 << 32 else value[0] + "0000000000000001"
            return FIXED[name] if name in FIXED and isinstance(FIXED[name], str) else self.text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if name == "step_ms" and isinstance(value, float):
                return 50.0
            if name in FIXED and (value or name in ALWAYS):
                return FIXED[name]
            if 1.7e12 < value < 1.9e12:
                return BASE_MS + LATER.get(name, 0)
        return value


def pretty(value: Any, indent: str = "", whole: bool = False) -> list[str]:
    """Returns JSON in lines; short values stay on one line. Long arrays are cut, but not in a `whole` value."""
    flat = json.dumps(value if whole else shortened(value), ensure_ascii=False)
    flat = flat.replace('"…"', "…")
    if len(indent) + len(flat) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return [flat]
    inner = indent + "  "
    lines = []
    if isinstance(value, dict):
        lines.append("{")
        row = ""
        for n, (key, of) in enumerate(value.items()):
            comma = "," if n + 1 < len(value) else ""
            part = pretty(of, inner, whole)
            first = f"{json.dumps(key)}: {part[0]}"
            if len(part) == 1 and row and len(inner) + len(row) + 1 + len(first) + 1 <= WIDTH:
                row += " " + first + comma
                continue
            if row:
                lines.append(inner + row)
            row = first + (comma if len(part) == 1 else "")
            if len(part) > 1:
                lines += [inner + row, *part[1:-1], part[-1] + comma]
                row = ""
        if row:
            lines.append(inner + row)
        return [*lines, indent + "}"]
    lines.append("[")
    items_max = len(value) if whole else ITEMS_MAX
    for n, of in enumerate(value[:items_max]):
        part = pretty(of, inner, whole)
        last = n + 1 == len(value)
        lines += [inner + part[0], *part[1:]]
        lines[-1] += "" if last else ","
    if len(value) > items_max:
        lines.append(inner + "…")
    return [*lines, indent + "]"]


def shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(of) for of in value[:ITEMS_MAX]] + (["…"] if len(value) > ITEMS_MAX else [])
    return {key: shortened(of) for key, of in value.items()} if isinstance(value, dict) else value


def cut(lines: list[str]) -> str:
    shown = lines if len(lines) <= LINES_MAX else [*lines[:LINES_MAX], "…"]
    return "\n".join(line if len(line) <= LINE_MAX else line[:LINE_MAX] + "…" for line in shown)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def curl(answer: Answer, steady: Steady) -> str:
    path = steady.text(answer.path)
    words = ["curl -s"]
    plain = {"GET": "", "POST": " -X POST" if not answer.body else ""}
    words[0] += plain.get(answer.method, f" -X {answer.method}")
    url = f"localhost:8477{path}"
    words.append(quoted(url) if re.search(r"[?&*\\]", url) else url)
    for name, value in answer.headers.items():
        words.append('-H "Authorization: Bearer $TOKEN"' if name == "Authorization" else f"-H {quoted(f'{name}: {value}')}")
    if answer.body:
        flag = "-d" if answer.media.startswith("application/json") and "\n" not in answer.body else "--data-binary"
        body = steady.text(answer.body)
        if len(body) > WIDTH - 10 and flag == "-d":
            body = "\n".join(pretty(json.loads(body), "  ", whole=True))
        words.append(f"{flag} {quoted(body)}")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word.partition("\n")[0]) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append("  " + word)
        else:
            lines[-1] += " " + word
    return "\n".join(lines)


def answer_of(answer: Answer, steady: Steady) -> str:
    """Returns a fence with the answer, or a sentence if it has no content."""
    if not answer.text:
        return f"The response has status {answer.status} and no body."
    if answer.media.startswith(("application/json", "application/x-ndjson")):
        if "ndjson" in answer.media:
            lines = [json.dumps(steady.value(json.loads(line))) for line in answer.text.splitlines()]
        else:
            lines = pretty(steady.value(json.loads(answer.text)))
        return f"```json\n{cut(lines)}\n```"
    lines = [steady.text(line) for line in answer.text.splitlines()]
    return "```text\n" + "\n".join(lines[:6] + (["…"] if len(lines) > 6 else [])) + "\n```"


def parameters(operation: dict[str, Any]) -> list[str]:
    own = OPERATION_PARAMETERS.get(operation["operationId"], {})
    rows = []
    for given in operation["parameters"]:
        name = given["name"]
        if given["in"] == "path":
            continue
        meaning = own.get(name, PARAMETERS[name])
        if name == "state" and (words := given["schema"].get("enum")):
            meaning += ". One of " + ", ".join(words)
        rows.append(f"| `{name}` | {meaning} |")
    return ["| parameter | meaning |", "|---|---|", *rows, ""] if rows else []


def page(tag: str, description: dict[str, Any], answers: dict[str, Answer], steady: Steady) -> str:
    """Returns the generated part of the page of a tag."""
    lines = [MARK, "", "## Operations", ""]
    found = [
        (path, method.upper(), operation)
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if operation["tags"][0] == tag
    ]
    order = list(OPERATIONS)
    for path, method, operation in sorted(found, key=lambda of: order.index(of[2]["operationId"])):
        title, about, errors = OPERATIONS[operation["operationId"]]
        lines += [f"### {title}", "", f"`{method} {path}`", ""]
        if about:
            lines += [*textwrap.wrap(about, 120, break_long_words=False, break_on_hyphens=False), ""]
        lines += parameters(operation)
        given = answers[operation["operationId"]]
        steady.own = OF_OPERATION.get(operation["operationId"], {})
        lines += ["```sh", curl(given, steady), "```", "", answer_of(given, steady), ""]
        if errors:
            lines += ["Errors:", "", *(f"- {error[:3]}: {error[4:]}" for error in errors), ""]
    return "\n".join(lines)
