#!/usr/bin/env bash
# Runs the browser tests if Node and Chromium are installed. Otherwise it reports that and skips the tests, but fails under
# CI=true, where a missing tool must not look like success.
#   run.sh MUSTER_BINARY DASHBOARD_FOLDER SCREENSHOT_FOLDER
set -euo pipefail
export MUSTER_BINARY=$1 MUSTER_DASHBOARD=$2 MUSTER_SCREENSHOTS=$3
MUSTER_CHROMIUM=$(command -v chromium || command -v chromium-browser || true)
export MUSTER_CHROMIUM
skipped=77  # the exit status that ctest takes for a skipped test

missing() {
  echo "BROWSER TESTS NOT RUN: $1; scripts/deps installs it"
  [[ ${CI:-} != true ]] || exit 1
  exit $skipped
}

command -v node >/dev/null || missing 'Node is missing'
[[ -n $MUSTER_CHROMIUM ]] || missing 'Chromium is missing'
[[ -d $MUSTER_DASHBOARD/node_modules/playwright-core ]] ||
  (cd "$MUSTER_DASHBOARD" && npm ci --no-audit --no-fund) || missing 'playwright-core is missing'
here=$(dirname "$0")
# Most of the time of a test is waiting, so three files run at the same time. Files that measure times run alone.
mapfile -t together < <(ls "$here"/*.test.mjs | grep -v '\.serial\.test\.mjs$')
status=0
node --test --test-concurrency=3 "${together[@]}" || status=$?
node --test --test-concurrency=1 "$here"/*.serial.test.mjs || status=$?
exit $status
