#!/usr/bin/env bash
# The size of the plugin; fails above a budget in KiB, if one is given.
#
#   tools/size.sh WASM [BUDGET_KIB]
set -euo pipefail

bytes=$(wc -c <"$1" | tr -d ' ')
echo "$1: $bytes bytes, $((bytes / 1024)) KiB"
if [ -n "${2:-}" ] && [ "$bytes" -gt $(($2 * 1024)) ]; then
    echo "size: above the budget of $2 KiB" >&2
    exit 1
fi
