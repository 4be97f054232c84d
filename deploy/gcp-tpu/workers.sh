#!/bin/bash
# Startup script for the hosts of a Cloud TPU slice that run programs of a Muster server. It starts one
# worker per host, with the host's chips as the resource tpu.
#
#   gcloud compute tpus tpu-vm create v4 --zone=us-central2-b --accelerator-type=v4-32 \
#     --version=tpu-ubuntu2204-base --metadata-from-file=startup-script=workers.sh \
#     --metadata=muster-tpu=v4,muster-server=10.128.0.2:8476
#   muster launch --tasks 4 --resource tpu=4 --label slice=v4 -- python3 /opt/train.py
#
# Startup scripts run as root. Ranks run as the user of --program-user, which this script creates; as root
# they could read the worker's token.
# The hosts need the muster program, and the software of your programs. Start the server with:
#   muster serve --grpc 0.0.0.0:8476 --data-dir /var/lib/muster/data --auth on
# and put a worker's token into /etc/muster/worker.token on the hosts. If a host is stopped, for example
# for maintenance, the worker gets SIGTERM: ranks get their grace, calls get --drain-timeout (30 s by
# default). A spot TPU stops after 30 s: launch programs with --grace 20s there.
set -euo pipefail

metadata() {
  curl -fsS --retry 5 --retry-connrefused --max-time 10 -H 'Metadata-Flavor: Google' \
    "http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/attributes/$1" ||
    { echo "workers: the metadata has no $1; see the head of this script" >&2; return 1; }
}

tpu=$(metadata muster-tpu)
server=$(metadata muster-server)
worker=$(metadata agent-worker-number)

shopt -s nullglob
chips=(/dev/accel[0-9]* /dev/vfio/[0-9]*)
memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
resources=(--resource "cpu=$(nproc)" --resource "memory=$memory")
((!${#chips[@]})) || resources+=(--resource "tpu=${#chips[@]}")

id -u muster-ranks >/dev/null 2>&1 || useradd --create-home --shell /usr/sbin/nologin muster-ranks

exec muster worker --server "$server" --allow-programs --program-user muster-ranks --host "$tpu-$worker" --index "$worker" \
  --token-file /etc/muster/worker.token --label "slice=$tpu" --idle-timeout 0 "${resources[@]}"
