#!/usr/bin/env bash
# The wasm toolchain: which one this machine has, and cargo run with it.
#
#   tools/wasm.sh setup            settle on a toolchain and remember it
#   tools/wasm.sh cargo build ...  cargo for wasm32-unknown-unknown, in the current folder
#   tools/wasm.sh build OUT        the plugin, copied to OUT: built for speed and then made smaller by
#                                  wasm-opt, or where that is not to be had, built for size
#   tools/wasm.sh crash OUT        for a test: a plugin that ends its VM at a request with the header
#                                  x-weir-test-crash
#   tools/wasm.sh noop OUT         for a measurement: a filter that does nothing, built as the plugin is
#
# Two ways lead to the target. `rustup`: the toolchain on PATH has (or can fetch) its standard
# library. `debian`: where rustup is missing or cannot reach its server, Debian's rustc-web builds
# the standard library from source. WASM_TOOLCHAIN=rustup|debian forces one of them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
choice_file=$here/.tools/wasm-toolchain
target=wasm32-unknown-unknown
packages=(rustc-web cargo-web rust-web-src lld-19)

main() {
    local command=${1:-}
    shift || true
    case $command in
        setup) setup ;;
        cargo) use_toolchain; run_cargo "$@" ;;
        build) use_toolchain; build "$@" ;;
        crash) use_toolchain; crash "$@" ;;
        noop) use_toolchain; noop "$@" ;;
        *) fail "unknown command '$command': expected setup, cargo, build, crash or noop" ;;
    esac
}

setup() {
    local choice=${WASM_TOOLCHAIN:-$(remembered)}
    case $choice in
        rustup) setup_rustup || fail "no $target from rustup; WASM_TOOLCHAIN=debian builds it from source" ;;
        debian) setup_debian ;;
        '')
            if setup_rustup; then choice=rustup; else choice=debian; setup_debian; fi ;;
        *) fail "WASM_TOOLCHAIN is '$choice': expected rustup or debian" ;;
    esac
    mkdir -p "$(dirname "$choice_file")"
    echo "$choice" >"$choice_file"
    echo "wasm target: $choice"
}

setup_rustup() {
    can_compile && return
    command -v rustup >/dev/null || return 1
    local log
    log=$(rustup target add "$target" 2>&1) && can_compile && return
    echo "wasm target: rustup cannot provide it: $(grep -m 1 '^error' <<<"$log" || echo "no linked module")" >&2
    return 1
}

# Says whether the compiler on PATH makes a linked module, the standard library included.
can_compile() {
    command -v rustc >/dev/null || return 1
    local scratch status=0
    scratch=$(mktemp -d)
    echo '#[unsafe(no_mangle)] pub extern "C" fn probe() -> usize { String::from("x").len() }' |
        rustc --edition 2024 --target "$target" --crate-type cdylib --crate-name probe \
            --out-dir "$scratch" - 2>/dev/null || status=1
    rm -rf "$scratch"
    return "$status"
}

setup_debian() {
    installed && return
    command -v apt-get >/dev/null ||
        fail "no rustup that can fetch $target and no apt-get: install that target by hand, then WASM_TOOLCHAIN=rustup"
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "installing ${packages[*]} needs root: run as root 'apt-get install ${packages[*]}'"
        root=(sudo)
    fi
    # --no-remove: a Rust of the distribution's own is not ours to throw out.
    local install=(apt-get install -y --no-install-recommends --no-remove "${packages[@]}")
    echo "wasm target: installing ${packages[*]}"
    "${root[@]}" "${install[@]}" >/dev/null || {
        "${root[@]}" apt-get update >/dev/null
        "${root[@]}" "${install[@]}" >/dev/null
    } || fail "apt-get cannot install ${packages[*]}: they need Debian 12 or newer"
}

installed() {
    local package
    for package in "${packages[@]}"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || return 1
    done
}

remembered() {
    cat "$choice_file" 2>/dev/null || true
}

# Sets `cargo` and `target_dir` for the toolchain in use.
use_toolchain() {
    # Either would replace the flags in .cargo/config.toml, which choose the entropy source.
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
    target_dir=${CARGO_TARGET_DIR:-$PWD/target}
    build_std=()
    cargo=cargo
    case ${WASM_TOOLCHAIN:-$(remembered)} in
        rustup) ;;
        debian)
            # Its compiler is another version: kept apart, the two do not evict each other's work.
            target_dir=$target_dir/wasm-debian
            cargo=/usr/bin/cargo
            build_std=(-Zbuild-std=std,panic_abort)
            export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc
            export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 ;;
        *) fail "no wasm toolchain chosen yet: run 'make setup-wasm'" ;;
    esac
    export CARGO_TARGET_DIR=$target_dir
    # The test runner of .cargo/config.toml and, where the machine has none, its Node.
    export PATH=$here/.tools/wasm-bindgen/bin:$here/.tools/bin:$PATH
}

run_cargo() {
    local command=$1
    shift
    "$cargo" "$command" "${build_std[@]}" --target "$target" "$@"
}

build() {
    shipped plugin/weir "$1" --lib
}

# Unoptimised, so that it and the plugin leave each other's files alone.
crash() {
    make_plugin debug/weir "$1" rustc --lib -- --cfg weir_test_crash -C strip=symbols
}

noop() {
    shipped plugin/examples/noop_filter "$1" --example noop_filter
}

# What is built for speed is above the plugin's budget of size until wasm-opt has been at it, and with the
# compiler's own measure of what to inline even then.
shipped() {
    local made=$1 out=$2
    shift 2
    if "$here/tools/wasm_opt.sh" have; then
        # Both halves of an Envoy that starts now must find the same plugin: only what is whole gets its name.
        make_plugin "$made" "$out.whole.$$" rustc --profile plugin "$@" -- -C llvm-args=-inline-threshold=50 || {
            rm -f "$out"
            return 1
        }
        shrink "$out.whole.$$" "$out"
        rm -f "$out.whole.$$"
    else
        CARGO_PROFILE_PLUGIN_OPT_LEVEL=z make_plugin "$made" "$out" rustc --profile plugin "$@"
    fi
}

# What comes of a module is kept beside the build: making it takes longer than all the rest of a build that
# has nothing to do.
shrink() {
    local whole=$1 out=$2 kept
    kept=$target_dir/$target/small-$(sha256sum <"$whole" | cut -c 1-16).wasm
    if [ ! -f "$kept" ]; then
        "$here/tools/wasm_opt.sh" run "$whole" "$kept.$$"
        mv "$kept.$$" "$kept"
    fi
    mkdir -p "$(dirname "$out")"
    cp "$kept" "$out.$$"
    mv "$out.$$" "$out"
}

make_plugin() {
    local made=$1 out=$2
    shift 2
    # A build that fails leaves no older one to be mistaken for it; one that succeeds appears whole.
    run_cargo "$@" || { rm -f "$out"; return 1; }
    mkdir -p "$(dirname "$out")"
    cp "$target_dir/$target/$made.wasm" "$out.$$"
    mv "$out.$$" "$out"
}

fail() {
    echo "wasm: $1" >&2
    exit 1
}

main "$@"
