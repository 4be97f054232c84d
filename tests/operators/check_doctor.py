"""muster doctor: a healthy server, servers with faults, an unreachable server, and certificates of various ages."""
import contextlib
import datetime
import http.server
import json
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

import support


def judged(done):
    """Returns the findings by check."""
    told = json.loads(done.stdout)
    by_check = {}
    for f in told["findings"]:
        by_check.setdefault(f["check"], []).append(f)
    return told, by_check


def certificate(folder, name, days_from, days_to):
    """Creates a self-signed certificate that is valid between these days from now. Uses `openssl ca`, which can set dates in the past."""
    key, pem = folder / f"{name}.key", folder / f"{name}.pem"
    now = datetime.datetime.now(datetime.timezone.utc)
    form = "%Y%m%d%H%M%SZ"
    config = folder / f"{name}.cnf"
    (folder / f"{name}.index").write_text("")
    (folder / f"{name}.serial").write_text("01\n")
    config.write_text(f"""[ca]
default_ca = c
[c]
dir = {folder}
new_certs_dir = {folder}
database = {folder}/{name}.index
serial = {folder}/{name}.serial
default_md = sha256
policy = p
[p]
commonName = supplied
[req]
distinguished_name = d
[d]
""")
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
            "-out", folder / f"{name}.csr", "-subj", f"/CN={name}", "-config", config)
    openssl("ca", "-batch", "-selfsign", "-config", config, "-keyfile", key, "-in",
            folder / f"{name}.csr", "-out", pem, "-notext", "-startdate",
            (now + datetime.timedelta(days=days_from)).strftime(form), "-enddate",
            (now + datetime.timedelta(days=days_to, hours=1)).strftime(form))
    return pem


class Healthy(unittest.TestCase):
    def test_healthy_server_passes_all_checks(self):
        with tempfile.TemporaryDirectory() as folder, \
                support.server("--data-dir", f"{folder}/data", "--cluster", "default:worker=1",
                               "--cluster", "second:worker=1") as s:
            s.worker("--slots", "1")
            done = s.run("doctor", "--data-dir", f"{folder}/data/not/yet", "--output", "json")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            told, by_check = judged(done)
            self.assertEqual(told["problems"], 0)
            ports = " ".join(f["text"] for f in by_check["ports"])
            self.assertIn(f"HTTP at {s.url} accepts work", ports)
            self.assertIn(f"gRPC of cluster default at {s.grpc} accepts connections", ports)
            self.assertIn("gRPC of cluster second at 127.0.0.1:", ports)
            self.assertEqual({f["result"] for f in by_check["ports"] + by_check["clock"]}, {"ok"})
            files = [f["text"] for f in by_check["files"]]
            self.assertTrue(any("the server can open" in f for f in files), files)
            self.assertTrue(any("a server started here" in f for f in files), files)
            versions = [f["text"] for f in by_check["version"]]
            self.assertTrue(any(v.startswith("workers: 1 with version ") for v in versions), versions)
            self.assertEqual([f["text"] for f in by_check["health"]], ["no alerts"])
            table = s.run("doctor")
            self.assertEqual(table.returncode, 0, table.stderr)
            self.assertRegex(table.stdout, r"(?m)^ok       ports +HTTP at ")
            self.assertRegex(table.stdout, r"0 problems, \d+ warnings?\n$")


class Faults(unittest.TestCase):
    def test_an_alert_is_a_finding_with_its_command(self):
        with support.server() as s:
            submitted = s.run("submit", "no.such_function", "--no-wait")
            self.assertEqual(submitted.returncode, 0, submitted.stderr)
            done = support.until(lambda: (d := s.run("doctor", "--output", "json")).returncode and d,
                                 "closures without workers are a problem")
            self.assertEqual(done.returncode, 1)
            health = judged(done)[1]["health"]
            self.assertTrue(all(f["fix"] for f in health), health)
            self.assertIn("problem", {f["result"] for f in health})
            self.assertRegex(s.run("doctor").stdout, r"(?m)^problem  health .*\n +→ \S")

    def test_too_few_files_are_a_warning(self):
        limited = ["bash", "-c", 'ulimit -n 256; exec "$@"', "bash", support.MUSTER]
        done = subprocess.run([*limited, "doctor", "--url", "http://127.0.0.1:9", "--output", "json"],
                              capture_output=True, text=True, timeout=60)
        files = judged(done)[1]["files"]
        self.assertEqual([f["result"] for f in files], ["warning"])
        self.assertIn("can open 256 files", files[0]["text"])
        self.assertIn("LimitNOFILE=65536", files[0]["fix"])

    def test_tensorflow_variables_are_reported_with_their_flags(self):
        done = support.run("doctor", "--url", "http://127.0.0.1:9", "--output", "json", env={
            **support.ENVIRONMENT, "TF_COORDINATOR_SCHEDULE_START_DELAY": "5",
            "TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES": "3"})
        settings = judged(done)[1]["settings"]
        self.assertEqual([f["result"] for f in settings], ["warning", "warning"])
        self.assertIn("TF_COORDINATOR_SCHEDULE_START_DELAY is set", settings[0]["text"])
        self.assertIn("--start-delay TIME", settings[0]["fix"])
        self.assertIn("--transient-dependency-failures N", settings[1]["fix"])

    def test_unreachable_grpc_port_is_a_problem(self):
        with stand_in(grpc=closed_port()) as url:
            done = support.run("doctor", "--url", url, "--output", "json")
        told, by_check = judged(done)
        self.assertEqual(done.returncode, 1)
        bad = [f for f in by_check["ports"] if f["result"] == "problem"]
        self.assertEqual(len(bad), 1, told)
        self.assertIn("cannot be reached from here", bad[0]["text"])
        self.assertIn("firewall", bad[0]["fix"])

    def test_version_and_clock_differences_are_reported(self):
        with stand_in(behind=datetime.timedelta(seconds=30), versions=("0.0.1", "0.0.2")) as url:
            done = support.run("doctor", "--url", url, "--output", "json")
        by_check = judged(done)[1]
        self.assertEqual(by_check["clock"][0]["result"], "warning")
        self.assertRegex(by_check["clock"][0]["text"], r"^the server's clock is (29|30)\.\d s behind")
        self.assertIn("timedatectl", by_check["clock"][0]["fix"])
        self.assertEqual([f["result"] for f in by_check["version"]], ["warning", "warning"])
        self.assertIn("0.0.9", by_check["version"][0]["text"])
        self.assertIn("1 with version 0.0.1 (worker:0); 1 with version 0.0.2 (worker:1)", by_check["version"][1]["text"])

    def test_server_that_is_not_ready_is_reported(self):
        with stand_in(ready=503) as url:
            done = support.run("doctor", "--url", url)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^problem  health .* does not accept work: it reads")


    def test_a_full_disk_is_a_problem_until_there_is_room_again(self):
        here = {"data_dir": "/data", "disk_bytes": 5 << 20, "free_bytes": 50 << 20}
        full = {**here, "full_since_ms": 1, "full": "no space left in /data: 50 MiB are free"}
        for durable, expected in ((full, [full["full"]]), (here, [])):
            with stand_in(durable=durable) as url:
                told, by_check = judged(support.run("doctor", "--url", url, "--output", "json"))
            problems = [f for f in by_check["disk"] if f["result"] == "problem"]
            self.assertEqual([f["text"] for f in problems], expected, told)
            self.assertTrue(all("free space" in f["fix"] for f in problems))
        self.assertIn("50 MiB are free", by_check["disk"][0]["text"])


class Refused(unittest.TestCase):
    """Mistakes in the arguments or the setup: each is one problem with its own fix."""

    def only_problem(self, *words, **options):
        done = support.run("doctor", "--output", "json", *words, **options)
        problems = [f for f in json.loads(done.stdout)["findings"] if f["result"] == "problem"]
        self.assertEqual(len(problems), 1, done.stdout)
        return done.returncode, problems[0]

    def test_token_problems_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "tokens"
            tokens.write_text(f"admin {'a' * 40}\nworker {'w' * 40}\n")
            with support.server("--token-file", str(tokens)) as s:
                for token, fix in (("", "muster token create"), ("x" * 40, "muster token list"),
                                   ("w" * 40, "a viewer's token")):
                    status, problem = self.only_problem("--url", s.url, *(["--token", token] if token else []))
                    self.assertEqual((status, problem["check"]), (1, "token"))
                    self.assertIn(fix, problem["fix"])

    def test_token_bound_to_another_cluster_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens = pathlib.Path(folder) / "tokens"
            tokens.write_text(f"admin {'a' * 40}\nviewer {'v' * 40} cluster=other\n")
            with support.server("--token-file", str(tokens)) as s:
                status, problem = self.only_problem("--url", s.url, "--token", "v" * 40)
        self.assertEqual((status, problem["check"]), (1, "token"), problem)
        self.assertIn("not bound to a cluster", problem["fix"])

    def end_yesterday(self, folder):
        """Creates over.pem: the server's certificate with other dates."""
        request = ["openssl", "x509", "-x509toreq", "-copy_extensions", "copy", "-in", folder / "server.pem",
                   "-signkey", folder / "server.key", "-out", folder / "over.csr"]
        sign = ["openssl", "x509", "-req", "-in", folder / "over.csr", "-CA", folder / "ca.pem", "-CAkey",
                folder / "ca.key", "-copy_extensions", "copy", "-days", "-1", "-out", folder / "over.pem"]
        for command in (request, sign):
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        (folder / "over.key").write_bytes((folder / "server.key").read_bytes())

    def test_certificate_problems_are_reported(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([support.MUSTER, "tls", "init", folder], check=True, capture_output=True, timeout=60)
            self.end_yesterday(folder)
            certificate(folder, "nameless", -1, 90)
            for pem, ca, fix in (("server", None, "--ca FILE"), ("nameless", "nameless.pem", "use a name"),
                                 ("over", "ca.pem", "renew it")):
                with stand_in(tls=(folder / f"{pem}.pem", folder / f"{pem}.key")) as url:
                    status, problem = self.only_problem("--url", url, *(["--ca", str(folder / ca)] if ca else []))
                self.assertEqual((status, problem["check"]), (1, "certificate"), problem)
                self.assertIn(fix, problem["fix"], problem)
                self.assertEqual(problem["text"].count(url), 1, problem)

    def test_address_problems_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([support.MUSTER, "tls", "init", folder], check=True, capture_output=True, timeout=60)
            with support.server("--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key") as s:
                status, problem = self.only_problem("--url", s.url)
        self.assertEqual((status, problem["check"]), (1, "ports"))
        self.assertIn("write https://", problem["fix"])
        status, problem = self.only_problem("--url", "http://no-such-host.invalid:8477")
        self.assertEqual((status, problem["check"]), (3, "ports"))
        self.assertIn("correct the name", problem["fix"])
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        status, problem = self.only_problem("--url", f"http://127.0.0.1:{other.server_address[1]}")
        other.shutdown()
        other.server_close()
        self.assertEqual((status, problem["check"]), (1, "ports"))
        self.assertIn("another program answers", problem["fix"])


class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *ignored):
        pass


class Nobody(unittest.TestCase):
    def test_unreachable_server_is_status_3_and_shows_free_ports(self):
        done = support.run("doctor", "--url", "http://127.0.0.1:9", "--output", "json")
        self.assertEqual(done.returncode, 3, done.stdout)
        ports = judged(done)[1]["ports"]
        self.assertEqual(ports[0]["result"], "problem")
        self.assertIn("muster serve", ports[0]["fix"])
        self.assertEqual([f["text"].split()[0] for f in ports[1:]],
                         ["127.0.0.1:8476", "127.0.0.1:8477"])

    def test_port_used_by_another_program_is_reported(self):
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with taken:
            try:
                taken.bind(("127.0.0.1", 8476))
                taken.listen()
            except OSError:
                pass  # another program uses the port, which serves the test as well
            done = support.run("doctor", "--url", "http://127.0.0.1:9", "--output", "json")
        port = next(f for f in judged(done)[1]["ports"] if f["text"].startswith("127.0.0.1:8476"))
        self.assertEqual(port["result"], "problem")
        self.assertIn("ss -ltnp", port["fix"])

    def test_invalid_url_is_a_usage_error(self):
        self.assertEqual(support.run("doctor", "--url", "gopher://x").returncode, 2)


class Certificates(unittest.TestCase):
    def test_certificates_near_expiry_are_reported(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cases = (("fine", -1, 90, "ok"), ("soon", -1, 20, "warning"), ("now", -1, 2, "problem"),
                     ("over", -9, -3, "problem"), ("early", 5, 90, "problem"))
            files = [certificate(folder, *case[:3]) for case in cases]
            chain = folder / "chain.pem"
            chain.write_text(files[0].read_text() + files[1].read_text())
            (folder / "empty.pem").write_text("nothing\n")
            flags = [w for f in [*files, chain, folder / "empty.pem", folder / "none.pem"]
                     for w in ("--check-cert", str(f))]
            done = support.run("doctor", "--url", "http://127.0.0.1:9", "--output", "json", *flags)
            found = judged(done)[1]["certificate"]
            self.assertEqual([f["result"] for f in found],
                             [case[3] for case in cases] + ["ok", "warning", "problem", "problem"])
            self.assertIn("CN=fine is valid until", found[0]["text"])
            self.assertIn("90 days left", found[0]["text"])
            self.assertIn("expired on", found[3]["text"])
            self.assertIn("not valid before", found[4]["text"])
            self.assertIn("contains no PEM certificate", found[7]["text"])
            self.assertIn("cannot be read", found[8]["text"])

    def test_certificate_of_an_https_server_is_checked(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            pem = certificate(folder, "localhost", -1, 12)
            with stand_in(tls=(pem, folder / "localhost.key")) as url:
                done = support.run("doctor", "--url", url, "--output", "json",
                                   env={**support.ENVIRONMENT, "SSL_CERT_FILE": str(pem)})
        found = judged(done)[1]["certificate"]
        self.assertEqual([f["result"] for f in found], ["warning"], done.stdout)
        self.assertIn("12 days left", found[0]["text"])


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def stand_in(grpc=None, behind=datetime.timedelta(), versions=(), ready=200, tls=None, durable=None):
    """A server with answers that a real one would not give."""
    listening = socket.create_server(("127.0.0.1", 0))
    answers = {
        "/livez": {}, "/readyz": {"detail": "it reads jobs", "status": ready},
        "/metrics": {}, "/api/v1/overview": {"durable": durable} if durable else {}, "/api/v1/version": {"version": "0.0.9"},
        "/api/v1/attention": {"items": []}, "/api/v1/events": {"events": []},
        "/api/v1/clusters": {"clusters": [{
            "name": "default", "address": "127.0.0.1:%d" % (grpc or listening.getsockname()[1])}]},
        "/api/v1/clusters/default/tasks": {"tasks": [
            {"kind": "worker", "state": "CONNECTED", "job": "worker", "index": i, "version": v}
            for i, v in enumerate(versions)]},
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = self.path.partition("?")[0]
            body = json.dumps(answers[path]).encode()
            self.send_response(ready if path == "/readyz" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp=None):
            at = datetime.datetime.now(datetime.timezone.utc) - behind
            return at.strftime("%a, %d %b %Y %H:%M:%S GMT")

        def log_message(self, *ignored):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    serving = threading.Thread(target=httpd.serve_forever)
    serving.start()
    try:
        scheme = "https://localhost" if tls else "http://127.0.0.1"
        yield f"{scheme}:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        serving.join()
        httpd.server_close()
        listening.close()


support.main()
