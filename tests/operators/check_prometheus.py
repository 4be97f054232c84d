"""Checks alert rules with promtool, and that every expression of rules and dashboard names metrics that a live server exports."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

import support

RULES = support.PROJECT / "deploy/prometheus/muster.rules.yml"
BOARD = support.PROJECT / "deploy/grafana/muster.json"
TESTS = support.PROJECT / "tests/operators/muster.rules_test.yml"
OF_PROMETHEUS = {"up"}
WITH_TLS = {"muster_tls_certificate_expiry_seconds"}


def promtool(*words, **options):
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    program = shutil.which("promtool") or f"{home}/muster/promtool"  # installed by scripts/deps
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120, **options)


def alerts():
    return [r for g in yaml.safe_load(RULES.read_text())["groups"] for r in g["rules"]]


def expressions():
    """Yields the expressions of the rules and the dashboard, with their locations."""
    for rule in alerts():
        yield rule["alert"], rule["expr"]
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def selectors(expression):
    """Yields name and {label: value} of each selector; only labels compared with = are included."""
    for name, labels in re.findall(r"\b((?:muster|process)_\w+|up\b)(?:\{([^}]*)\})?", expression):
        yield name, dict(re.findall(r'(\w+)="([^"$]*)"', labels))


class Rules(unittest.TestCase):
    def test_promtool_accepts_the_rules(self):
        done = promtool("check", "rules", str(RULES))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(alerts())} rules found", done.stdout)

    def test_each_alert_fires_when_expected(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (RULES, TESTS):
                shutil.copy(file, folder)
            done = promtool("test", "rules", TESTS.name, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tested = set(re.findall(r"alertname: (\w+)", TESTS.read_text()))
        self.assertEqual(tested, {r["alert"] for r in alerts()})

    def test_each_alert_names_valid_commands(self):
        flags = {}
        for rule in alerts():
            self.assertEqual(set(rule["annotations"]), {"summary", "description"})
            for verb, rest in re.findall(r"\bmuster ([a-z-]+)((?: --[a-z-]+| [A-Z_]+)*)",
                                         rule["annotations"]["description"]):
                if verb not in flags:
                    flags[verb] = support.run(verb, "--help-all" if verb == "serve" else "--help")
                    self.assertEqual(flags[verb].returncode, 0, f"{rule['alert']}: {verb}")
                for flag in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(flag, flags[verb].stdout, rule["alert"])


class Exported(unittest.TestCase):
    def test_every_expression_uses_metrics_of_a_running_server(self):
        with tempfile.TemporaryDirectory() as folder, \
                support.server("--data-dir", f"{folder}/data", "--cluster", "train:worker=2") as s:
            s.worker("--slots", "2")
            done = s.run("submit", "muster.echo", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            text = s.get("/metrics")
            # Checks the format of the text too.
            checked = promtool("check", "metrics", input=text)
            self.assertNotIn("error", checked.stderr.lower())
        exported = {}
        for name, labels in re.findall(r"^(\w+)(?:\{([^}]*)\})? ", text, re.M):
            exported.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels)))
        count = 0
        for where, expression in expressions():
            for name, labels in selectors(expression):
                count += 1
                if name in OF_PROMETHEUS | WITH_TLS:
                    continue
                self.assertIn(name, exported, where)
                own = {k: v for k, v in labels.items() if k not in ("job", "instance")}
                self.assertTrue(any(own.items() <= sample.items() for sample in exported[name]),
                                f"{where}: {name}{own} of {exported[name][:10]}")
        self.assertGreater(count, 50)

    def test_promtool_accepts_the_expressions_of_the_dashboard(self):
        rules = [{"record": f"x:{i}", "expr": re.sub(r"\$__rate_interval", "5m", e)}
                 for i, (_, e) in enumerate(expressions())]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "board.yml")
            path.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
            done = promtool("check", "rules", str(path))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_panels_do_not_overlap(self):
        panels = json.loads(BOARD.read_text())["panels"]
        taken = set()
        for p in panels:
            g = p["gridPos"]
            cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
                     for y in range(g["y"], g["y"] + g["h"])}
            self.assertFalse(taken & cells, p["title"])
            self.assertLessEqual(g["x"] + g["w"], 24, p["title"])
            taken |= cells
        self.assertEqual(len({p["id"] for p in panels}), len(panels))


support.main()
