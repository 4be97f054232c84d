#!/usr/bin/env bash
# Installs a build into an empty folder, then builds and runs a project that uses only that folder.
#   install_test.sh BUILD_FOLDER PROJECT_FOLDER
set -euo pipefail
build=$1 project=$2
folder=$(mktemp -d)
server=
cleanup() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

cmake --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
cmake -S "$project" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$folder/configure.log" \
  || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder/build"

"$folder/prefix/bin/muster" version
TF_CONFIG='{"cluster":{"worker":["a:1"]}}' "$folder/build/external_resolver"
"$folder/build/external_cloud_resolver"
"$folder/prefix/bin/muster" serve --grpc 127.0.0.1:0 --http 127.0.0.1:0 \
  --cluster 'solo:worker=1' \
  --ready-file "$folder/ready.json" 2>"$folder/server.log" &
server=$!
for _ in {1..400}; do
  [[ -s $folder/ready.json ]] && break
  kill -0 "$server" || { cat "$folder/server.log"; exit 1; }
  read -rt 0.05 <> <(:) || true
done
"$folder/build/external_worker" "$(sed 's/.*"grpc":"\([^"]*\)".*/\1/' "$folder/ready.json")"
"$folder/build/external_agent" "$(sed 's/.*"grpc":"\([^"]*\)".*/\1/' "$folder/ready.json")"
kill -TERM "$server"
wait "$server"
server=
