"""Runs Envoy with Weir in front of a URL, in the foreground.

    URL=https://api.openai.com [CAP=8] [CONFIG=file.json] [PORT=10000] [ADMIN_PORT=9901] run.py

The configuration is envoy/full.yaml with the provider, the ports and the plugin's configuration
put in. It is kept in out/run/ to be read and copied.
"""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = ROOT / "envoy/full.yaml"
USAGE = """\
Say in front of what: make run URL=https://api.openai.com

  URL=https://host[:port][/path]  the provider; http:// for one without TLS
  CAP=8                           calls at the provider at one time, the rest wait; 0: no cap
  CONFIG=file.json                a plugin configuration of your own, instead of CAP
  PORT=10000                      where your client connects
  ADMIN_PORT=9901                 where the stats are"""
AUTHORITIES = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
]


class Refused(Exception):
    """Something the user has to change."""


def main(env):
    if not env.get("URL"):
        raise Refused(USAGE)
    url = provider(env["URL"])
    config = plugin(env)
    port, admin = free_port("PORT", env, 10000), free_port("ADMIN_PORT", env, 9901)
    yaml = bootstrap(url, config, port, admin, env["WEIR_WASM"])
    path = ROOT / f"out/run/envoy-{port}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml)
    envoy = [env["ENVOY"], "-c", str(path), "--disable-hot-restart"]
    validate(envoy)
    explain(url, env, config, port, admin, path)
    # Weir's decisions and one line a call; Envoy's own chatter only from errors on.
    log = ["-l", "error", "--component-log-level", "wasm:info", "--log-format", "%v"]
    # By default the lines about calls come up to ten seconds late.
    log += ["--file-flush-interval-msec", "100"]
    os.execv(envoy[0], [*envoy, *log])


def validate(envoy):
    """What Weir or Envoy has against the configuration is said before anything else."""
    dry = [*envoy, "--mode", "validate", "-l", "error", "--log-format", "%v"]
    run = subprocess.run(dry, capture_output=True, text=True, errors="replace")
    if run.returncode:
        said = run.stderr.strip().splitlines()
        ours = [line for line in said if "configuration refused" in line]
        raise Refused("\n".join(ours[:1] or said or [f"Envoy ended with {run.returncode}."]))


def provider(text):
    """The parts of the URL; what would be ignored in it is refused."""
    url = urllib.parse.urlsplit(text)
    try:
        port = url.port
    except ValueError:
        raise Refused("The port in URL is not a number from 0 to 65535.") from None
    if url.scheme not in ("http", "https"):
        raise Refused("URL has to start with https:// or http://.")
    if not url.hostname or not re.fullmatch(r"[a-z0-9._:-]+", url.hostname):
        raise Refused("URL names no host that can be looked up.")
    if "@" in url.netloc or url.query or url.fragment:
        raise Refused("URL is scheme, host, port and path alone: your client sends its own key.")
    return url._replace(netloc=authority(url.hostname, port), path=url.path.rstrip("/"))


def authority(host, port):
    host = f"[{host}]" if ":" in host else host
    return host if port is None else f"{host}:{port}"


def plugin(env):
    """The plugin's configuration as text; what it says is Weir's to judge."""
    if env.get("CONFIG"):
        try:
            return pathlib.Path(env["CONFIG"]).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"CONFIG cannot be read: {error}") from None
    cap = whole("CAP", env, 8, 65535)
    return json.dumps({"policies": [{"name": "default", "max_concurrent_calls": cap}]})


def whole(name, env, default, most):
    text = env.get(name) or str(default)
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > most:
        raise Refused(f"{name} is {text!r}: it has to be a whole number up to {most}.")
    return int(text)


def free_port(name, env, default):
    wanted = whole(name, env, default, 65535)
    for port in (wanted, 0):
        with socket.socket() as probe:
            try:
                # A connection that still closes does not count, a listener does.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found = probe.getsockname()[1]
        if wanted not in (0, found):
            print(f"Port {wanted} is taken: {found} is used instead ({name}=... names another).")
        return found
    raise Refused("There is no free port.")


def bootstrap(url, config, port, admin, wasm):
    tls = url.scheme == "https"
    to = json.dumps(url.hostname), url.port or (443 if tls else 80)
    yaml = FULL.read_text()
    for old, new in [
        ("port_value: 10000", f"port_value: {port}"),
        ("port_value: 9901", f"port_value: {admin}"),
        ("filename: /etc/envoy/weir.wasm", f"filename: {json.dumps(wasm)}"),
        ("address: api.example-llm.com, port_value: 443", "address: %s, port_value: %d" % to),
        # With the port, if it is an unusual one.
        ("auto_host_rewrite: true", f"host_rewrite_literal: {json.dumps(url.netloc)}"),
    ]:
        yaml = once(yaml, old, new)
    # As one line of JSON text inside YAML, Weir gets the file byte for byte.
    yaml = block(yaml, "value: |", f"value: {json.dumps(config, ensure_ascii=False)}")
    if tls:
        return once(yaml, f"filename: {AUTHORITIES[0]}", f"filename: {json.dumps(authorities())}")
    yaml = block(yaml, "transport_socket:", "# no TLS")
    # Which HTTP to speak is agreed on in the TLS handshake.
    return block(yaml, "auto_config:", "explicit_http_config: {http_protocol_options: {}}")


def once(text, old, new):
    if text.count(old) != 1:
        raise Refused(f"{FULL} has {old!r} {text.count(old)} times instead of once.")
    return text.replace(old, new)


def block(text, key, new):
    """Puts `new` in place of the line `key` and all deeper lines that follow it."""
    pattern = rf"^( *){re.escape(key)}\n(?:\1 .*\n|\n)*"
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise Refused(f"{FULL} has {key!r} {len(found)} times instead of once.")
    return re.sub(pattern, lambda m: f"{m[1]}{new}\n", text, flags=re.MULTILINE)


def authorities():
    for path in [os.environ.get("SSL_CERT_FILE"), *AUTHORITIES]:
        if path and os.path.isfile(path):
            return os.path.abspath(path)
    raise Refused("No certificate authorities found: install ca-certificates or set SSL_CERT_FILE.")


def explain(url, env, config, port, admin, path):
    stats = f"http://127.0.0.1:{admin}/stats"
    print(f"""
Weir stands in front of {url.geturl()}: {limits(env, config)}

  Point your client at  http://127.0.0.1:{port}{url.path}
  instead of            {url.geturl()}
  with its key and everything else unchanged.

  Stats:       curl -s {shlex.quote(stats + "?filter=weir.policy&usedonly")}
  Prometheus:  curl -s {shlex.quote(stats + "/prometheus?filter=weir")}
  Envoy's configuration is in {path.relative_to(ROOT)}.

Below come one line a call and Weir's own decisions. It is ready in a second or two; Ctrl-C ends it.
""", flush=True)


def limits(env, config):
    if env.get("CONFIG"):
        return f"as {env['CONFIG']} says." + stray(config)
    cap = whole("CAP", env, 8, 65535)
    if cap == 0:
        return "no cap, refusals are waited out and retried (CAP=0)."
    return f"at most {cap} calls at one time, the rest wait (CAP={cap})."


def stray(config):
    """A warning where no policy takes the one cluster there is."""
    try:
        policies = json.loads(config).get("policies")
        clusters = [p.get("match", {}).get("clusters", ["provider"]) for p in policies or []]
    except (ValueError, AttributeError):
        return ""
    if policies is None or any("provider" in names for names in clusters):
        return ""
    return "\nNo policy there takes Envoy's cluster `provider`: Weir will leave all calls alone."


if __name__ == "__main__":
    try:
        main(os.environ)
    except Refused as problem:
        sys.exit(f"{problem}")
