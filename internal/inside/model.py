"""A stub of a model: what one turn of Hermes Agent needs of an OpenAI-compatible server.

It answers each question with the same word. Questions without the key are refused.
"""
import http.server
import json


class Model(http.server.BaseHTTPRequestHandler):
    word, key = "pong", ""
    turns = 0

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
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.endswith("/chat/completions"):
            return self.answer(b"{}", status=404)
        if self.headers.get("Authorization") != "Bearer " + self.key:
            return self.answer(b'{"error":{"message":"wrong key"}}', status=401)
        Model.turns += 1
        if request.get("stream"):
            return self.answer(stream(self.word), "text/event-stream")
        message = {"role": "assistant", "content": self.word}
        self.answer(json.dumps(completion("chat.completion", message=message, finish_reason="stop")).encode())


def completion(kind, **choice):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "stub", "object": kind, "created": 1, "model": "stub", "choices": [{"index": 0, **choice}], "usage": usage}


def stream(word):
    parts = [({"role": "assistant", "content": word}, None), ({}, "stop")]
    chunks = [completion("chat.completion.chunk", delta=d, finish_reason=f) for d, f in parts]
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


def serve(address, port, model=Model):
    return http.server.ThreadingHTTPServer((address, port), model)
