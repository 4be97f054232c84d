#!/usr/bin/env bash
# Runs the browser tests where Node and Chromium are there. Where they are not, says so and is
# skipped, but fails under CI=true: there, absence must not look like success.
#   run.sh MUSTER_BINARY DASHBOARD_FOLDER SCREENSHOT_FOLDER
set -euo pipefail
export MUSTER_BINARY=$1 MUSTER_DASHBOARD=$2 MUSTER_SCREENSHOTS=$3
MUSTER_CHROMIUM=$(command -v chromium || command -v chromium-browser || true)
export MUSTER_CHROMIUM
skipped=77  # as ctest knows it

missing() {
  echo "BROWSER TESTS NOT RUN: $1; scripts/deps installs it"
  [[ ${CI:-} != true ]] || exit 1
  exit $skipped
}

command -v node >/dev/null || missing 'Node is missing'
[[ -n $MUSTER_CHROMIUM ]] || missing 'Chromium is missing'
[[ -d $MUSTER_DASHBOARD/node_modules/playwright-core ]] ||
  (cd "$MUSTER_DASHBOARD" && npm ci --no-audit --no-fund) || missing 'playwright-core is missing'
exec node --test "$(dirname "$0")"/*.test.mjs
