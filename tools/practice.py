"""A provider to practise with: no key, no money, no network.

    practice.py [PORT]

Answers any POST after a second. More than four at one time it refuses, as providers do.
"""

import http.server
import json
import sys
import threading
import time

AT_ONE_TIME = 4
SECONDS = 1.0

places = threading.BoundedSemaphore(AT_ONE_TIME)


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if not places.acquire(blocking=False):
            message = "Rate limit reached: too many requests at one time"
            error = {"message": message, "type": "requests", "code": "rate_limit_exceeded"}
            return self.answer(429, {"error": error})
        try:
            time.sleep(SECONDS)
        finally:
            places.release()
        message = {"role": "assistant", "content": "Well done."}
        self.answer(200, {"object": "chat.completion", "choices": [{"message": message}]})

    def answer(self, status, body):
        body = json.dumps(body).encode() + b"\n"
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Envoy's log tells of each call."""


class Server(http.server.ThreadingHTTPServer):
    # More connections at once than the default of 5.
    request_queue_size = 1000


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    try:
        server = Server(("127.0.0.1", port), Provider)
    except OSError as error:
        sys.exit(f"Port {port} cannot be used: {error.strerror}. Another: practice.py {port + 9}")
    print(f"http://127.0.0.1:{port} answers {AT_ONE_TIME} calls at one time; Ctrl-C ends it.")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
