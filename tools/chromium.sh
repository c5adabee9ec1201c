#!/usr/bin/env bash
# A Chromium to look at pages with. Nothing else needs one, so that a machine without it can do
# all but that.
#
#   tools/chromium.sh setup   finds one, or on Debian fetches it into .tools without root
#   tools/chromium.sh find    prints the program; fails if there is none
#
# CHROMIUM=path takes another.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/.tools/chromium
fetched=$home/chromium

main() {
    case ${1:-} in
        find) find_one ;;
        setup) setup ;;
        *) echo "chromium: unknown command '${1:-}': expected setup or find" >&2; exit 1 ;;
    esac
}

find_one() {
    local program
    for program in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        [ -n "$program" ] && type -P "$program" && return
    done
    # One whose libraries did not all come is none.
    "$fetched" --version >/dev/null 2>&1 && echo "$fetched" && return
    return 1
}

setup() {
    local program
    if ! program=$(find_one); then
        fetch >/dev/null || { echo "chromium: none found or fetched; pages cannot be looked at" >&2; return 0; }
        program=$fetched
    fi
    echo "chromium: $program ($("$program" --version 2>/dev/null || echo "does not run"))"
}

# Chromium and what it needs that this machine has not, unpacked below .tools.
fetch() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    local packages root=$home/root
    packages=$(apt-get --simulate install --no-install-recommends chromium | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    [ -n "$packages" ] || return 1
    echo "chromium: fetching into .tools, once" >&2
    rm -rf "$home"
    mkdir -p "$home/debs" "$root"
    # shellcheck disable=SC2086 # one argument a package
    (cd "$home/debs" && apt-get download $packages) || return 1
    local package
    for package in "$home"/debs/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    rm -rf "$home/debs"
    write_program "$root"
    "$fetched" --version
}

write_program() {
    local triple
    triple=$(cd "$1/usr/lib" && ls -d ./*-linux-gnu 2>/dev/null | head -n 1 || true)
    cat >"$fetched" <<EOF
#!/bin/sh
lib=$1/usr/lib/${triple#./}
export LD_LIBRARY_PATH=\$lib:$1/lib/${triple#./}:\$lib/nss:\$lib/pulseaudio
exec $1/usr/lib/chromium/chromium "\$@"
EOF
    chmod +x "$fetched"
}

main "$@"
