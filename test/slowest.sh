#!/usr/bin/env bash
# Shows what go test prints as it comes, and after it the ten packages that took longest.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tee "$log"
awk '
  ($1 == "ok" || $1 == "FAIL") && $3 ~ /^[0-9.]+s$/ { n++; name[n] = $2; took[n] = $3 + 0; sum += $3 }
  END {
    if (n < 10) exit
    printf "\nThe slowest packages of %d, %.0f s in all:\n", n, sum
    for (k = 1; k <= 10; k++) {
      best = 0
      for (i in took) if (!best || took[i] > took[best]) best = i
      printf "%7.1f s  %s\n", took[best], name[best]
      delete took[best]
    }
  }' "$log"
