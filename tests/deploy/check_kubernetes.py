"""Validates every object of the manifests against the schema of Kubernetes' API, of the oldest supported release and of the
newest, without fields that the API does not know. Also checks the required settings of each pod.

  check_kubernetes.py MANIFESTS_FOLDER
"""
import copy
import pathlib
import subprocess
import sys
import unittest

import kubernetes_validate
import yaml

FOLDER = pathlib.Path(sys.argv[1])
RELEASES = ["1.27", "1.37"]
OF_OTHERS = {"JobSet"}  # https://jobset.sigs.k8s.io; not part of Kubernetes' API


def objects():
    for path in sorted(FOLDER.glob("*.yaml")):
        for o in yaml.safe_load_all(path.read_text()):
            yield path.name, o
    made = subprocess.run([FOLDER / "tokens.sh"], check=True, capture_output=True, text=True, timeout=60)
    yield "tokens.sh", yaml.safe_load(made.stdout)


def pods():
    """Yields name, pod specification, and the creating object, of all objects that create pods."""
    for name, o in objects():
        if o["kind"] == "Deployment":
            yield f"{name} {o['metadata']['name']}", o["spec"]["template"]["spec"], o
        if o["kind"] == "JobSet":
            for job in o["spec"]["replicatedJobs"]:
                yield f"{name} {job['name']}", job["template"]["spec"]["template"]["spec"], o


class Manifests(unittest.TestCase):
    def test_api_accepts_every_object(self):
        seen = set()
        for name, o in objects():
            if o["kind"] in OF_OTHERS:
                continue
            seen.add(o["kind"])
            for release in RELEASES:
                with self.subTest(f"{name} {o['kind']} {o['metadata']['name']} {release}"):
                    kubernetes_validate.validate(o, release, strict=True)
        self.assertGreaterEqual(seen, {"Deployment", "PodDisruptionBudget", "NetworkPolicy", "Secret",
                                       "Service", "PersistentVolumeClaim", "Role", "RoleBinding"})

    def test_unknown_field_is_found(self):
        deployment = next(o for _, o in objects() if o["kind"] == "Deployment")
        for spoil in (lambda c: c.update(readOnlyRoot=True),
                      lambda c: c.update(ports=[{"containerPort": "grpc"}])):
            spoiled = copy.deepcopy(deployment)
            spoil(spoiled["spec"]["template"]["spec"]["containers"][0])
            with self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(spoiled, RELEASES[-1], strict=True)

    def test_pods_of_muster_have_few_privileges(self):
        checked = 0
        for name, pod, made_by in pods():
            if made_by["kind"] in OF_OTHERS:
                continue  # a program of the user
            checked += 1
            with self.subTest(name):
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod["securityContext"]["runAsUser"], 65532)  # the user of the image
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                for c in pod["containers"]:
                    self.assertEqual(c["securityContext"], {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]}})
                    self.assertIn("requests", c["resources"])
                    self.assertIn("memory", c["resources"]["limits"])
                    written = {m["mountPath"] for m in c["volumeMounts"] if not m.get("readOnly")}
                    self.assertIn("/tmp", written)
        self.assertEqual(checked, 3)

    def test_mounted_volumes_exist(self):
        secrets = {o["metadata"]["name"]: set(o["stringData"]) for _, o in objects() if o["kind"] == "Secret"}
        claims = {o["metadata"]["name"] for _, o in objects() if o["kind"] == "PersistentVolumeClaim"}
        for name, pod, _ in pods():
            volumes = {v["name"]: v for v in pod.get("volumes", [])}
            mounted = {m["name"] for c in pod["containers"] for m in c.get("volumeMounts", [])}
            with self.subTest(name):
                self.assertEqual(mounted, set(volumes))
                for v in volumes.values():
                    if "secret" in v:
                        items = {i["key"] for i in v["secret"].get("items", [])}
                        self.assertLessEqual(items, secrets[v["secret"]["secretName"]])
                    if "persistentVolumeClaim" in v:
                        self.assertIn(v["persistentVolumeClaim"]["claimName"], claims)

    def test_budgets_and_policies_select_existing_pods(self):
        labels = [o["spec"]["template"]["metadata"]["labels"] for _, o in objects() if o["kind"] == "Deployment"]
        for name, o in objects():
            if o["kind"] in ("PodDisruptionBudget", "NetworkPolicy"):
                chosen = (o["spec"].get("selector") or o["spec"]["podSelector"])["matchLabels"]
                with self.subTest(f"{name} {o['kind']}"):
                    self.assertTrue(any(chosen.items() <= of.items() for of in labels), chosen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
