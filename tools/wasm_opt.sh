#!/usr/bin/env bash
# wasm-opt, which makes the plugin an eighth smaller. The one on PATH is not asked: versions differ.
#
#   tools/wasm_opt.sh setup         fetches it with npm into .tools; where that cannot be, says so
#   tools/wasm_opt.sh have          is it there?
#   tools/wasm_opt.sh run IN OUT    makes IN smaller
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

version=$(sed -n 's/^binaryen==//p' "$here/tools/binaryen.txt")
digest=$(sed -n 's/^sha512-//p' "$here/tools/binaryen.txt")
home=$here/.tools/binaryen/$version
export PATH=$PATH:$here/.tools/bin

# What the compiler may use, which it does not write into a stripped module.
features=(--enable-bulk-memory --enable-multivalue --enable-mutable-globals
    --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext)

setup() {
    have || fetch || {
        echo "wasm-opt: not to be had: the plugin is built for size alone, and costs more CPU"
        return
    }
    echo "wasm-opt: $home"
}

have() {
    [ -f "$home/wasm-opt" ] && type -P node >/dev/null
}

fetch() {
    type -P npm >/dev/null && type -P node >/dev/null || return 1
    local scratch status=0
    scratch=$(mktemp -d)
    fetch_into "$scratch" || status=1
    rm -rf "$scratch"
    return "$status"
}

fetch_into() {
    (cd "$1" && npm pack --silent "binaryen@$version" >/dev/null) || return 1
    local package=$1/binaryen-$version.tgz
    [ "$(sha512 "$package")" = "$digest" ] || {
        echo "wasm-opt: binaryen $version is not what was expected" >&2
        return 1
    }
    tar -xzf "$package" -C "$1" package/bin/wasm-opt package/bin/package.json || return 1
    mkdir -p "$(dirname "$home")"
    rm -rf "$home"
    mv "$1/package/bin" "$home"
}

sha512() {
    python3 -c 'import base64, hashlib, sys
print(base64.b64encode(hashlib.sha512(open(sys.argv[1], "rb").read()).digest()).decode())' "$1"
}

run() {
    node "$home/wasm-opt" "${features[@]}" -Oz "$1" -o "$2"
}

"$@"
