#!/bin/bash
# Startup script for the hosts of a Cloud TPU slice. Each host starts the program as one task of the
# slice. A Muster server that all hosts can reach is the coordination service.
#
#   gcloud compute tpus tpu-vm create slice --zone=us-central2-b --accelerator-type=v4-32 \
#     --version=tpu-ubuntu2204-base --metadata-from-file=startup-script=startup.sh \
#     --metadata=muster-tpu=slice,muster-server=10.128.0.2:8476,muster-command='python3 /opt/train.py'
#
# The hosts need the muster program and a service account that may read the TPU (tpu.nodes.get). Start
# the server with the hosts' network in --agents-from, because their agents cannot send a token:
#   muster serve --cluster 'training:worker=4' --grpc 0.0.0.0:8476 --data-dir /var/lib/muster/data \
#     --agents-from 10.128.0.0/9
set -euo pipefail

metadata() {
  curl -fsS --retry 5 --retry-connrefused --max-time 10 -H 'Metadata-Flavor: Google' \
    "http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/attributes/$1" ||
    { echo "startup: the metadata has no $1; see the head of this script" >&2; return 1; }
}

tpu=$(metadata muster-tpu)
server=$(metadata muster-server)
worker=$(metadata agent-worker-number)
program=$(metadata muster-command)
cluster="tpu:name=$tpu"

# The hosts start before the TPU is READY.
muster resolve "$cluster" --wait --timeout 30m

exec muster run --cluster-from "$cluster" --task "worker:$worker" --mode independent-worker \
  --server "$server" --max-restarts 3 -- bash -c "$program"
