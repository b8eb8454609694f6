"""The demo's model endpoint, which says pong to whoever has its key; it follows internal/inside/model.py.

Arguments: address, port and key.
"""
import signal
import sys


class Demo(Model):
    word = "pong, says the model of the demo"
    key = sys.argv[3]

    def log_message(self, form, *args):
        print(self.client_address[0], form % args, flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = serve(sys.argv[1], int(sys.argv[2]), Demo)
print("listening", flush=True)
server.serve_forever()
