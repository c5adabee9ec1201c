"""Envoys for a measurement: with a wasm filter at Weir's two places or without, and a provider."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

TYPES = "type.googleapis.com/envoy.extensions"
ANSWER = ('{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",'
          '"content":"Hello."},"finish_reason":"stop"}]}')
READY_WITHIN = 30


@contextlib.contextmanager
def provider(folder):
    """Answers every call at once; gives its port."""
    route = {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": ANSWER}}}
    envoy = Process(folder, [route], [buffer(), router([])], [], workers=1)
    try:
        yield envoy.port
    finally:
        envoy.end()


class Process:
    def __init__(self, folder, routes, filters, clusters, workers):
        self.port, self.admin = free_ports(2)
        manager = {
            "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "front",
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
            "http_filters": filters,
        }
        chain = {"filters": [{"name": "http", "typed_config": manager}]}
        # Connections are dealt out evenly to the workers.
        listener = {"name": "front", "address": address(self.port), "filter_chains": [chain],
                    "connection_balance_config": {"exact_balance": {}}}
        bootstrap = {
            "static_resources": {"listeners": [listener], "clusters": clusters},
            "admin": {"address": address(self.admin)},
        }
        path = f"{folder}/envoy-{self.port}.json"
        with open(path, "w") as file:
            json.dump(bootstrap, file)
        self.log = f"{folder}/envoy-{self.port}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [os.environ["ENVOY"], "-c", path, "--disable-hot-restart", "-l", "error",
                 "--concurrency", str(workers)], stdout=log, stderr=log)
        self.wait_until_ready()

    def wait_until_ready(self):
        give_up = time.monotonic() + READY_WITHIN
        while self.process.poll() is None and time.monotonic() < give_up:
            try:
                if self.get("/ready").strip() == "LIVE":
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.end()
        sys.exit(f"Envoy does not start: {open(self.log).read()[-2000:]}")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=10) as answer:
            return answer.read().decode()

    def stat(self, name):
        for line in self.get(f"/stats?filter=^{name}$").splitlines():
            return int(line.rsplit(": ", 1)[1])
        return 0

    def answered(self):
        return self.stat("http.front.downstream_rq_2xx")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            # The name may hold spaces; user and system time are the 14th and 15th field.
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Envoy(Process):
    """`wasm`: none, or a module's path and its configuration. `filters`: what stands before all else."""

    def __init__(self, folder, upstream, wasm, filters=(), workers=1):
        gate, attempt = ([half(*wasm, place)] if wasm else [] for place in ("gate", "attempt"))
        route = {"match": {"prefix": "/"}, "route": {"cluster": "provider", "timeout": "600s"}}
        endpoint = {"endpoint": {"address": address(upstream)}}
        cluster = {
            "name": "provider", "type": "STATIC",
            "circuit_breakers": {"thresholds": [{"max_retries": 100000}]},
            "load_assignment": {"cluster_name": "provider", "endpoints": [{"lb_endpoints": [endpoint]}]},
        }
        super().__init__(folder, [route], [*filters, *gate, buffer(), router(attempt)], [cluster], workers)


def half(module, configuration, place):
    config = {
        "failure_policy": "FAIL_RELOAD",
        "allow_on_headers_stop_iteration": place == "attempt",
        "vm_config": {"vm_id": "measured", "runtime": "envoy.wasm.runtime.v8",
                      "code": {"local": {"filename": os.path.abspath(module)}}},
        "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue",
                          "value": configuration},
    }
    return {"name": place, "typed_config": {"@type": f"{TYPES}.filters.http.wasm.v3.Wasm", "config": config}}


def local_ratelimit(per_second):
    """By default it does nothing, so it is told to, for every call."""
    always = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
    return {"name": "local_ratelimit", "typed_config": {
        "@type": f"{TYPES}.filters.http.local_ratelimit.v3.LocalRateLimit",
        "stat_prefix": "local", "filter_enabled": always, "filter_enforced": always,
        "token_bucket": {"max_tokens": per_second, "tokens_per_fill": per_second, "fill_interval": "1s"}}}


def adaptive_concurrency(at_least):
    """Its documentation's example, but it lets so many calls run whatever it measures."""
    return {"name": "adaptive_concurrency", "typed_config": {
        "@type": f"{TYPES}.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
        "gradient_controller_config": {
            "sample_aggregate_percentile": {"value": 90},
            "concurrency_limit_params": {"concurrency_update_interval": "0.1s"},
            "min_rtt_calc_params": {"jitter": {"value": 10}, "interval": "60s", "request_count": 50,
                                    "min_concurrency": at_least}}}}


def buffer():
    return {"name": "buffer", "typed_config": {
        "@type": f"{TYPES}.filters.http.buffer.v3.Buffer", "max_request_bytes": 16777216}}


def router(upstream_filters):
    config = {"@type": f"{TYPES}.filters.http.router.v3.Router"}
    if upstream_filters:
        codec = {"@type": f"{TYPES}.filters.http.upstream_codec.v3.UpstreamCodec"}
        config["upstream_http_filters"] = [*upstream_filters, {"name": "codec", "typed_config": codec}]
    return {"name": "envoy.filters.http.router", "typed_config": config}


def address(port):
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def envoy_version():
    shown = subprocess.run([os.environ["ENVOY"], "--version"], capture_output=True, text=True).stdout
    found = re.search(r"/(\d+\.\d+\.\d+)/", shown)
    return f"Envoy {found[1]}" if found else "Envoy of unknown version"


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
