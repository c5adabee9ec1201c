"""Load from wrk, and what its output says."""

import re
import subprocess

CALL = """\
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer sk-0123456789abcdef0123456789abcdef"
wrk.headers["user-agent"] = "OpenAI/Python 1.99.1"
wrk.headers["accept"] = "application/json"
wrk.body = '{"model":"some-model","messages":[{"role":"user","content":"Say hello."}]}'
"""
# Every call names the next of so many keys.
KEYS = """\
local next_key, requests = 0, {}
function init()
  for key = 1, %d do
    wrk.headers["x-key"] = "key-" .. key
    requests[key] = wrk.format()
  end
end
function request()
  next_key = next_key %% #requests + 1
  return requests[next_key]
end
"""
PATIENCE = 60
UNITS = {"us": 1, "ms": 1000, "s": 1_000_000, "m": 60_000_000}


class Wrk:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, port, connections, seconds, keys=1):
        """Loads a port, one thread; gives p50 and p99 of the latency in microseconds."""
        script = f"{self.folder}/keys-{keys}.lua"
        with open(script, "w") as file:
            file.write(CALL + (KEYS % keys))
        run = subprocess.run(
            [self.program, "-t1", f"-c{connections}", f"-d{seconds}s", f"--timeout={PATIENCE}s", "--latency",
             "-s", script, f"http://127.0.0.1:{port}"],
            capture_output=True, text=True, check=True)
        wrong = failures(run.stdout)
        if wrong:
            raise Failed(wrong)
        return {"p50_us": latency(run.stdout, 50), "p99_us": latency(run.stdout, 99)}


class Failed(Exception):
    """Not all calls were answered with success."""


def failures(output):
    """The line of the output that says so, or None."""
    found = re.search(r"Non-2xx.*|Socket errors.*", output)
    return found and found[0]


def latency(output, percent):
    """Microseconds, from a line such as `99%    3.05ms`."""
    found = re.search(rf"^ *{percent}% +([\d.]+)(us|ms|s|m)$", output, re.MULTILINE)
    if not found:
        raise Failed(f"wrk says no latency:\n{output}")
    return float(found[1]) * UNITS[found[2]]
