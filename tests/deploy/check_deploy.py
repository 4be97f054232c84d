"""Checks the files under deploy/ as far as possible without a cluster: that they parse, that the names in them agree with
each other, and that the muster program accepts the command lines in them.

  check_deploy.py MUSTER DEPLOY_FOLDER
"""

import configparser
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

MUSTER, DEPLOY = sys.argv[1], pathlib.Path(sys.argv[2])


def muster(*arguments):
    return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "GCE_METADATA_HOST": "127.0.0.1:1"})


def command_lines(text):
    """Returns every `muster VERB …` of a shell text, as lists of words. Continued lines are joined."""
    text = re.sub(r"\\\n\s*", " ", text)
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.findall(r"(?:^|exec |srun [^\n]*?|[;&|] *)\s*(muster [a-z]+ [^\n]*)", text, re.M):
        yield shlex.split(line.rstrip("& "))[1:]


def substituted(arguments, values):
    def one(text):
        return re.sub(r"\$\{?(\w+)(?::-[^}]*)?\}?", lambda m: values.get(m[1], "1"), text)
    return [one(a) for a in arguments]


def new_tokens():
    """Returns the Secret that tokens.sh creates."""
    done = subprocess.run([DEPLOY / "kubernetes/tokens.sh"], capture_output=True, text=True, timeout=60)
    return yaml.safe_load(done.stdout)["stringData"]


class Yaml(unittest.TestCase):
    def setUp(self):
        self.server = list(yaml.safe_load_all((DEPLOY / "kubernetes/server.yaml").read_text()))
        self.workers = next(yaml.safe_load_all((DEPLOY / "kubernetes/workers.yaml").read_text()))
        self.program_workers = next(
            yaml.safe_load_all((DEPLOY / "kubernetes/program-workers.yaml").read_text()))
        self.jobset = list(yaml.safe_load_all((DEPLOY / "kubernetes/jobset.yaml").read_text()))

    def of_kind(self, kind, name):
        found = [d for d in self.server
                 if d["kind"] == kind and d["metadata"]["name"] == name]
        self.assertEqual(len(found), 1, f"{kind} {name}")
        return found[0]

    def test_every_object_has_a_version_a_kind_and_a_unique_name(self):
        seen = set()
        for d in self.server + self.jobset:
            self.assertTrue(d["apiVersion"] and d["kind"] and d["metadata"]["name"])
            key = d["kind"], d["metadata"]["name"]
            self.assertNotIn(key, seen)
            seen.add(key)

    def test_service_pods_and_policy_select_the_same_labels(self):
        pod = self.of_kind("Deployment", "muster")["spec"]["template"]
        labels = pod["metadata"]["labels"]
        deployment = self.of_kind("Deployment", "muster")["spec"]["selector"]["matchLabels"]
        service = self.of_kind("Service", "muster")["spec"]["selector"]
        policy = self.of_kind("NetworkPolicy", "muster")["spec"]
        for chosen in (deployment, service, policy["podSelector"]["matchLabels"]):
            self.assertEqual(chosen, labels)
        task = self.jobset_pod()["metadata"]["labels"]
        workers, programs = (d["spec"]["template"]["metadata"]["labels"]
                             for d in (self.workers, self.program_workers))
        for allowed, who in zip(policy["ingress"][0]["from"], (task, workers, programs), strict=True):
            allowed = allowed["podSelector"]["matchLabels"]
            self.assertEqual(allowed, {k: who.get(k) for k in allowed})

    def jobset_pod(self):
        job = self.jobset[0]["spec"]["replicatedJobs"][0]["template"]["spec"]
        self.assertEqual(job["parallelism"], job["completions"])
        return job["template"]

    def test_ports_have_the_names_that_services_and_probes_use(self):
        container = self.of_kind("Deployment", "muster")["spec"]["template"]["spec"]["containers"][0]
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        for p in self.of_kind("Service", "muster")["spec"]["ports"]:
            self.assertEqual(ports[p["targetPort"]], p["port"])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertIn(container[probe]["httpGet"]["port"], ports)
        line = " ".join(container["command"])
        self.assertIn(f"--grpc=0.0.0.0:{ports['grpc']}", line)
        self.assertIn(f"--http=0.0.0.0:{ports['http']}", line)

    def test_service_account_of_the_tasks_can_list_pods(self):
        account = self.jobset_pod()["spec"]["serviceAccountName"]
        self.of_kind("ServiceAccount", account)
        binding = self.of_kind("RoleBinding", account)
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": account}])
        rules = self.of_kind("Role", binding["roleRef"]["name"])["rules"]
        self.assertEqual(rules, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])

    def test_declared_and_deployed_numbers_of_tasks_agree(self):
        args = self.of_kind("Deployment", "muster")["spec"]["template"]["spec"]["containers"][0]
        declared = next(a for a in args["command"] if a.startswith("--cluster="))
        job = self.jobset[0]["spec"]["replicatedJobs"][0]["template"]["spec"]
        self.assertTrue(declared.endswith(f"worker={job['completions']}"))
        self.assertIn(f";tasks={job['completions']};", self.task_environment()["CLUSTER"])
        self.assertIn(f"jobset-name={self.jobset[0]['metadata']['name']};",
                      self.task_environment()["CLUSTER"])

    def task_environment(self):
        return {e["name"]: e.get("value") for e in self.jobset_pod()["spec"]["containers"][0]["env"]}

    def test_command_line_of_the_server_is_accepted(self):
        container = self.of_kind("Deployment", "muster")["spec"]["template"]["spec"]["containers"][0]
        done = muster(*container["command"][1:], "--print-config")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_workers_use_the_servers_address_and_an_accepted_command_line(self):
        service = self.of_kind("Service", "muster")
        ports = {p["name"]: p["port"] for p in service["spec"]["ports"]}
        for workers in (self.workers, self.program_workers):
            container = workers["spec"]["template"]["spec"]["containers"][0]
            self.assertIn(f"--server=muster:{ports['grpc']}", container["command"])
            check_lines(self, shlex.join(container["command"]), {}, 1)

    def test_pods_of_workers_are_killed_after_the_drain_timeout(self):
        for workers in (self.workers, self.program_workers):
            pod = workers["spec"]["template"]["spec"]
            (drain,) = [re.fullmatch(r"--drain-timeout=(\d+)s", word)[1] for word in pod["containers"][0]["command"]
                        if word.startswith("--drain-timeout")]
            self.assertEqual(int(drain) + 10, pod["terminationGracePeriodSeconds"])

    def test_no_manifest_uses_insecure(self):
        for path in DEPLOY.rglob("*"):
            if path.is_file():
                self.assertNotIn("--insecure", path.read_text(), path)

    def test_tokens_are_generated_anew_and_mounted_where_needed(self):
        tokens, others = new_tokens(), new_tokens()
        self.assertFalse(set(tokens.values()) & set(others.values()))
        self.assertIn(f"submitter {tokens['launcher']} allow-exec", tokens["tokens"].splitlines())
        env = {e["name"]: e for e in self.jobset_pod()["spec"]["containers"][0]["env"]}
        reference = env["MUSTER_TOKEN"]["valueFrom"]["secretKeyRef"]
        self.assertIn(reference["key"], tokens)
        pods = [self.of_kind("Deployment", "muster"), self.workers, self.program_workers]
        for pod, key in zip(pods, ("tokens", "worker", "worker"), strict=True):
            (volume,) = [v for v in pod["spec"]["template"]["spec"]["volumes"] if v["name"] == "tokens"]
            self.assertEqual([i["key"] for i in volume["secret"]["items"]], [key])
            self.assertEqual(volume["secret"]["secretName"], reference["name"])
            # The files belong to root, and the user of the pod reads them through its group.
            self.assertEqual(pod["spec"]["template"]["spec"]["securityContext"]["fsGroup"], 65532)

    def test_server_and_worker_of_the_manifests_accept_only_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            tokens = new_tokens()
            for name, text in tokens.items():
                (folder / name).write_text(text)
                (folder / name).chmod(0o440)
            grpc, http = free_ports(2)
            # As in the pods, except for the locations of files.
            here = {"--grpc": f"127.0.0.1:{grpc}", "--http": f"127.0.0.1:{http}", "--data-dir": folder / "data",
                    "--server": f"127.0.0.1:{grpc}"}
            def command(pod):
                line = pod["spec"]["template"]["spec"]["containers"][0]["command"][1:]
                parts = [word.replace("/etc/muster/tokens/", f"{folder}/").partition("=") for word in line]
                return [MUSTER, *(f"{name}={here[name]}" if name in here else name + equals + value
                                  for name, equals, value in parts)]
            def tasks(token):
                return subprocess.run([MUSTER, "tasks", "--cluster", "training", "--output", "json", "--url",
                                       f"http://127.0.0.1:{http}"], capture_output=True, text=True, timeout=60,
                                      env={"MUSTER_TOKEN": token})
            def attached():
                done = tasks(tokens["admin"])
                return done.returncode == 0 and "CONNECTED" in done.stdout
            server = subprocess.Popen(command(self.of_kind("Deployment", "muster")), stderr=subprocess.PIPE)
            worker = subprocess.Popen(command(self.workers), stderr=subprocess.PIPE)
            try:
                end = time.monotonic() + 60
                while not attached():
                    self.assertLess(time.monotonic(), end, tasks(tokens["admin"]).stderr)
                    self.assertIsNone(server.poll())
                self.assertEqual(tasks(tokens["submitter"]).returncode, 0)
                for token in ("", tokens["worker"], "no-such-token-no-such-token-no-such"):
                    self.assertEqual(tasks(token).returncode, 1)
                without = [w for w in command(self.workers) if not w.startswith("--token-file")]
                refused = subprocess.run(without, capture_output=True, text=True, timeout=60)
                self.assertEqual(refused.returncode, 1, refused.stderr)
            finally:
                for process in (worker, server):
                    process.kill()
                    process.communicate()

    def test_command_lines_of_the_tasks_are_accepted(self):
        container = self.jobset_pod()["spec"]["containers"][0]
        check_lines(self, container["args"][0], {"CLUSTER": self.task_environment()["CLUSTER"]}, 2)


def check_lines(test, text, values, expected):
    lines = [substituted(line, values) for line in command_lines(text)]
    test.assertEqual(len(lines), expected, lines)
    for line in lines:
        if line[0] == "serve":
            done = muster(*line, "--print-config")
            test.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")
            continue
        known = muster(line[0], "--help")
        test.assertEqual(known.returncode, 0, known.stderr)
        flags = set(re.findall(r"--[a-z-]+", known.stdout))
        own = line[:line.index("--")] if "--" in line else line
        for flag in (a.split("=")[0] for a in own[1:] if a.startswith("--")):
            test.assertIn(flag, flags, line)
        for kind in [a for a in own[1:] if re.match(r"(kubernetes|slurm|tpu|gce)\b", a)]:
            # The platform is not available here. A malformed command line would end with status 2.
            done = muster("resolve", kind)
            test.assertIn(done.returncode, (1, 3), f"{kind}: {done.stderr}")


FAKE_SRUN = """#!/bin/bash
[[ $1 == --kill-on-bad-exit=1 ]] && shift
export SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=2
export CUDA_VISIBLE_DEVICES=
SLURM_PROCID=1 "$@" &
SLURM_PROCID=0 "$@"
first=$?
wait $! && exit $first
"""


# Two nodes with two GPUs each.
FAKE_SRUN_OF_WORKERS = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
export CUDA_VISIBLE_DEVICES=0,1 SLURM_CPUS_ON_NODE=2 SLURM_JOB_ID=7
for node in n0 n1; do SLURMD_NODENAME=$node "$@" & done
wait
"""


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Scripts(unittest.TestCase):
    def check(self, name, values, expected):
        path = DEPLOY / name
        done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        check_lines(self, path.read_text(), values, expected)

    def test_batch_script_is_valid(self):
        self.check("slurm/run.sbatch", {"grpc_port": "8476", "http_port": "8477",
                                        "SLURM_NTASKS": "4", "scratch": "/nowhere",
                                        "first": "n1", "shared": "/nowhere", "@": "true",
                                        "agents": "127.0.0.0/8"}, 2)

    def run_batch(self, *program):
        """Runs the script itself, with an srun that starts two tasks on this machine."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "srun").write_text(FAKE_SRUN)
            (folder / "scontrol").write_text("#!/bin/bash\necho $3\n")
            for program_of_slurm in ("srun", "scontrol"):
                (folder / program_of_slurm).chmod(0o755)
            (folder / "muster").symlink_to(pathlib.Path(MUSTER).resolve())
            grpc, http = free_ports(2)
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_NTASKS": "2",
                           "SLURMD_NODENAME": "127.0.0.1", "MUSTER_GRPC_PORT": str(grpc),
                           "MUSTER_HTTP_PORT": str(http), "TMPDIR": str(folder),
                           "SLURM_JOB_NODELIST": "localhost", "SLURM_SUBMIT_DIR": str(folder)}
            done = subprocess.run([DEPLOY / "slurm/run.sbatch", *program], capture_output=True,
                                  text=True, timeout=100, env=environment)
            left = [f.name for f in folder.iterdir() if f.name not in ("srun", "scontrol", "muster")]
            self.assertEqual(left, [])
            return done

    def test_batch_script_runs_a_program_as_both_tasks_of_a_step(self):
        done = self.run_batch("bash", "-c", "echo task $TF_CONFIG")
        self.assertEqual(done.returncode, 0, done.stderr)
        for index in (0, 1):
            self.assertRegex(done.stdout, r'task .*"index": ?%d' % index)

    def test_server_of_the_batch_script_requires_the_jobs_own_token(self):
        ask = 'muster jobs --url "http://127.0.0.1:$MUSTER_HTTP_PORT" 2>&1'
        done = self.run_batch("bash", "-c", f"""
            cd "$SLURM_SUBMIT_DIR"
            {ask} && echo known
            MUSTER_TOKEN= {ask} || echo refused $?
            echo modes $(stat -c %a .muster-*/ .muster-*/token)
            [[ $(<.muster-*/token) == "$MUSTER_TOKEN" ]] && echo same""")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in ("known", "refused 1", "modes 700 600", "same"):
            self.assertEqual(len(re.findall(rf"\b{line}$", done.stdout, re.M)), 2, done.stdout)

    def test_batch_script_exits_with_the_status_of_the_program(self):
        self.assertEqual(self.run_batch("bash", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.run_batch().returncode, 2)

    def test_workers_of_the_batch_script_use_the_gpus_of_slurm(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in (("srun", 'while [[ $1 == --* ]]; do shift; done\n"$@"'), ("muster", 'echo "$@"')):
                (folder / name).write_text(f"#!/bin/bash\n{text}\n")
                (folder / name).chmod(0o755)
            for visible, gpus in (("", 0), ("NoDevFiles", 0), ("0,1", 2), ("GPU-8a,MIG-9b", 2), ("0,-1,1", 1)):
                done = subprocess.run([DEPLOY / "slurm/workers.sbatch", "host:8476"], capture_output=True,
                                      text=True, timeout=60,
                                      env={"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "7",
                                           "SLURM_CPUS_ON_NODE": "2", "CUDA_VISIBLE_DEVICES": visible})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f" --gpus {gpus} ", done.stdout, visible)

    def test_workers_of_the_batch_script_run_a_program_and_exit_when_idle(self):
        self.check("slurm/workers.sbatch", {}, 1)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "srun").write_text(FAKE_SRUN_OF_WORKERS)
            (folder / "srun").chmod(0o755)
            (folder / "muster").symlink_to(pathlib.Path(MUSTER).resolve())
            grpc, http = (f"127.0.0.1:{port}" for port in free_ports(2))
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(folder),
                           "MUSTER_IDLE_TIMEOUT": "3s"}
            server = subprocess.Popen([MUSTER, "serve", "--grpc", grpc, "--http", http,
                                       "--ready-file", folder / "ready"], stderr=subprocess.DEVNULL)
            try:
                while not (folder / "ready").exists():
                    self.assertIsNone(server.poll())
                    time.sleep(0.02)
                workers = subprocess.Popen([DEPLOY / "slurm/workers.sbatch", grpc],
                                           stderr=subprocess.PIPE, text=True, env=environment)
                ran = muster("launch", "--url", f"http://{http}", "--tasks", "2", "--resource", "gpu=2",
                             "--resource", "cpu=2", "--resource", "memory=100", "--label",
                             "slurm_job=7", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for rank in (0, 1):
                    self.assertIn(f"rank {rank} | 0,1\n", ran.stdout)
                said = workers.communicate(timeout=60)[1]
                self.assertEqual(workers.returncode, 0, said)
                self.assertEqual(said.count("no work for 3000 ms"), 2, said)
            finally:
                server.kill()
                server.wait()
        done = subprocess.run([DEPLOY / "slurm/workers.sbatch"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)

    def test_startup_script_is_valid(self):
        self.check("gcp-tpu/workers.sh", {"server": "10.0.0.1:8476", "worker": "3", "tpu": "v4"}, 1)
        self.check("gcp-tpu/startup.sh", {"cluster": "tpu:name=slice", "worker": "3",
                                          "server": "10.0.0.1:8476"}, 2)


class Unit(unittest.TestCase):
    def test_server_unit_starts_the_server(self):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read(DEPLOY / "systemd/muster.service")
        self.assertEqual(unit["Install"]["WantedBy"], "multi-user.target")
        line = shlex.split(unit["Service"]["ExecStart"])
        self.assertEqual(line[:2], ["/usr/bin/muster", "serve"])
        without_file = [a for a in line[2:] if a not in ("--config", "/etc/muster/muster.toml")]
        done = muster("serve", *without_file, "--print-config")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_worker_unit_starts_a_worker(self):
        lines = (DEPLOY / "systemd/muster-worker.service").read_text().splitlines()
        (command,) = [line.partition("=")[2] for line in lines if line.startswith("ExecStart=")]
        words = shlex.split(command)
        self.assertEqual(words[:2], ["/usr/bin/muster", "worker"])
        done = muster(*words[1:], "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        # A higher value than systemd's would have no effect.
        self.assertIn("Environment=MUSTER_DRAIN_TIMEOUT=4m30s", lines)
        self.assertIn("TimeoutStopSec=5min", lines)

    def test_packaged_settings_equal_the_defaults(self):
        file = DEPLOY / "debian/muster.toml"
        settings = lambda *words: {line.partition("  #")[0] for line in
                                   muster("serve", *words, "--print-config").stdout.splitlines()}
        given, without = settings("--config", str(file)), settings()
        self.assertEqual(given, without)
        self.assertTrue(given)

    def test_socket_unit_listens_on_the_default_addresses(self):
        lines = (DEPLOY / "systemd/muster.socket").read_text().splitlines()
        listening = {line.partition("=")[2] for line in lines if line.startswith("ListenStream=")}
        printed = muster("serve", "--print-config").stdout
        for address in listening:
            self.assertIn(f'"{address}"', printed)
        self.assertEqual(len(listening), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
