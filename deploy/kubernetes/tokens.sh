#!/bin/sh
# Prints a Secret with new tokens, which the other manifests use:
#
#   deploy/kubernetes/tokens.sh | kubectl apply -n ml -f -
#
# The server reads `tokens`, and reads it again when it changes. Workers and tasks use `worker`; people and programs
# use `submitter` or `admin`. `launcher` is a submitter that can also run programs on workers (`muster launch`,
# `muster.exec`); the other tokens cannot:
#
#   export MUSTER_TOKEN=$(kubectl get -n ml secret muster-tokens -o 'go-template={{.data.submitter | base64decode}}')
set -eu

secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
admin=$(secret) submitter=$(secret) launcher=$(secret) worker=$(secret)

cat <<END
apiVersion: v1
kind: Secret
metadata:
  name: muster-tokens
  labels: {app.kubernetes.io/name: muster}
type: Opaque
stringData:
  admin: "$admin"
  submitter: "$submitter"
  launcher: "$launcher"
  worker: "$worker"
  tokens: |
    admin $admin
    submitter $submitter
    submitter $launcher allow-exec
    worker $worker
END
