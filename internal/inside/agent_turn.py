"""One turn of Hermes Agent against a stub model on loopback; prints a JSON line.

Arguments: the hermes program, and a directory to use as its home.
"""
import http.server
import json
import os
import secrets
import subprocess
import sys
import threading

HERMES, HOME = sys.argv[1], sys.argv[2]
WORD = "pong-" + secrets.token_hex(8)
KEY = secrets.token_hex(16)
turns = 0


class Model(http.server.BaseHTTPRequestHandler):
    """The parts of an OpenAI-compatible server that one turn needs."""

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.endswith("/models"):
            return self.answer(json.dumps({"object": "list", "data": [{"id": "stub", "object": "model"}]}).encode())
        self.answer(b"{}", status=404)

    def do_POST(self):
        global turns
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.endswith("/chat/completions"):
            return self.answer(b"{}", status=404)
        if self.headers.get("Authorization") != "Bearer " + KEY:
            return self.answer(b'{"error":{"message":"wrong key"}}', status=401)
        turns += 1
        if request.get("stream"):
            return self.answer(stream(), "text/event-stream")
        message = {"role": "assistant", "content": WORD}
        self.answer(json.dumps(completion("chat.completion", message=message, finish_reason="stop")).encode())


def completion(kind, **choice):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "stub", "object": kind, "created": 1, "model": "stub", "choices": [{"index": 0, **choice}], "usage": usage}


def stream():
    parts = [({"role": "assistant", "content": WORD}, None), ({}, "stop")]
    chunks = [completion("chat.completion.chunk", delta=d, finish_reason=f) for d, f in parts]
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.makedirs(HOME, mode=0o700, exist_ok=True)
with open(HOME + "/config.yaml", "w") as f:
    json.dump({  # JSON is YAML
        "model": {"provider": "custom", "base_url": f"http://127.0.0.1:{server.server_port}/v1", "default": "stub", "api_key": KEY},
        "security": {"tirith_enabled": False},
    }, f)
run = subprocess.run([HERMES, "chat", "-Q", "-q", "ping"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150)
print(json.dumps({"code": run.returncode, "answer": WORD in run.stdout, "turns": turns, "output": (run.stdout + run.stderr)[-1500:].replace(KEY, "***")}))
