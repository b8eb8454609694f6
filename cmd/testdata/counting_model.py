"""A model endpoint on 127.0.0.1:18000 that answers with the number of questions that it was shown."""
import http.server
import json


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [{"id": "counting", "object": "model"}]}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "%d questions" % sum(message["role"] == "user" for message in asked["messages"])
        message = {"role": "assistant", "content": text}
        head = {"id": "c", "created": 1, "model": "counting"}
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            self.answer("application/json", json.dumps(head | {"object": "chat.completion", "choices": [choice], "usage": usage}))
            return
        lines = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
        chunks = [json.dumps(head | {"object": "chat.completion.chunk", "choices": [line]}) for line in lines]
        self.answer("text/event-stream", "".join("data: %s\n\n" % chunk for chunk in [*chunks, "[DONE]"]))

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", 18000), Model).serve_forever()
