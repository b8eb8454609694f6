"""One turn of Hermes Agent against a stub model on loopback; prints a JSON line. It follows model.py.

Arguments: the hermes program, and a directory to use as its home.
"""
import os
import secrets
import subprocess
import sys
import threading

HERMES, HOME = sys.argv[1], sys.argv[2]
Model.word, Model.key = "pong-" + secrets.token_hex(8), secrets.token_hex(16)

server = serve("127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.makedirs(HOME, mode=0o700, exist_ok=True)
with open(HOME + "/config.yaml", "w") as f:
    json.dump({  # JSON is YAML
        "model": {"provider": "custom", "base_url": f"http://127.0.0.1:{server.server_port}/v1", "default": "stub", "api_key": Model.key},
        "security": {"tirith_enabled": False},
    }, f)
run = subprocess.run([HERMES, "chat", "-Q", "-q", "ping"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150)
print(json.dumps({"code": run.returncode, "answer": Model.word in run.stdout, "turns": Model.turns, "output": (run.stdout + run.stderr)[-1500:].replace(Model.key, "***")}))
