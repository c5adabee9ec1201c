#!/usr/bin/env bash
# wrk, which makes load for measurements: the one on PATH, or on Debian fetched into .tools without
# root. Prints how to run it.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/.tools/wrk
fetched=$home/wrk

fetch() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    rm -rf "$home"
    mkdir -p "$home/debs"
    # Of what it depends on, LuaJIT alone is rare.
    (cd "$home/debs" && apt-get download wrk libluajit-5.1-2) >&2 || return 1
    local package
    for package in "$home"/debs/*.deb; do
        dpkg-deb -x "$package" "$home/root"
    done
    rm -rf "$home/debs"
    cat >"$fetched" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$(cd "$home"/root/usr/lib/*-linux-gnu && pwd)
exec $home/root/usr/bin/wrk "\$@"
END
    chmod +x "$fetched"
}

type -P wrk && exit
[ -x "$fetched" ] || fetch || { echo "wrk: not found and not fetched: install wrk" >&2; exit 1; }
echo "$fetched"
