#!/bin/sh
# Creates tests/disk/old/NAME with a build's program: a backup of a data directory in the format of this version. Run
# once before a change of the format; existing directories are not changed.
#   tests/disk/make_old_directory.sh build/release/bin/muster format-2
set -eu
muster=$(realpath "$1")
target=$(dirname "$(realpath "$0")")/old/$2
work=$(mktemp -d)
server='' worker=''
trap 'kill $worker $server 2>/dev/null || true; rm -r "$work"' EXIT

"$muster" serve --grpc 127.0.0.1:0 --http 127.0.0.1:0 --ready-file "$work/ready" --data-dir "$work/data" \
  --cluster 'train:worker=2' 2> "$work/log" &
server=$!
while [ ! -e "$work/ready" ]; do sleep 0.05; done
MUSTER_URL=http://$(sed 's/.*"http":"\([^"]*\)".*/\1/' "$work/ready")
grpc=$(sed 's/.*"grpc":"\([^"]*\)".*/\1/' "$work/ready")
export MUSTER_URL

"$muster" clusters create made-by-rest worker=3
"$muster" kv put config/a hello
"$muster" kv put config/b gone
"$muster" kv delete config/b
printf '\000\377' > "$work/bytes"
"$muster" kv put binary - < "$work/bytes"
"$muster" worker --server "$grpc" --slots 1 2> "$work/worker" &
worker=$!
"$muster" submit --name finished muster.echo -- '"a value"'
"$muster" submit --name failed muster.fail -- '"no such column"' || true
kill "$worker" && wait "$worker" || true
worker=''
curl -sSf "$MUSTER_URL/api/v1/jobs" -H 'Content-Type: application/json' \
  -d '{"name":"waiting","idempotency_key":"once","closures":[{"function":"muster.echo","args":[7]}]}' > /dev/null
"$muster" data backup "$work/data" "$work/copy"
rm -f "$work/copy/LOCK" "$work/copy/LOG"* "$work/copy/"OPTIONS-*
"$muster" data check "$work/copy"
rm -f "$work/copy/LOCK" "$work/copy/LOG"*
mkdir -p "$(dirname "$target")"
cp -r "$work/copy" "$target"
