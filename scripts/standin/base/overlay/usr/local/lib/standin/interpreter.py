"""Stands in for the code interpreter on port 49999: GET /health answers 200, all else 501."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, b'"OK"') if self.path == "/health" else self.refuse()

    def do_POST(self):
        self.refuse()

    def refuse(self):
        self.answer(501, b'{"detail":"the stand-in base runs no code on this port"}')

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", 49999), Handler).serve_forever()
