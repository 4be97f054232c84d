#!/usr/bin/env bash
# Runs a benchmark once: it must succeed, and its output must match a regular expression.
#   smoke.sh EXPRESSION COMMAND...
set -euo pipefail
expected=$1
shift
status=0
printed=$("$@") || status=$?
echo "$printed"
((status == 0)) || { echo "it ended with status $status"; exit 1; }
[[ $printed =~ $expected ]] || { echo "nothing there matches $expected"; exit 1; }
