"""A fake hermes: its version, and a gateway that answers /health, with the aiohttp that the recipe brings."""

import json
import os
import pathlib
import re
import sys

VERSION = "Hermes Agent v0.0.1 (fake)"


def gateway(home):
    from aiohttp import web

    port = int(re.search(r"port: (\d+)", (home / "config.yaml").read_text()).group(1))
    key = re.search(r"^API_SERVER_KEY=(.{16,})$", (home / ".env").read_text(), re.M).group(1)
    (home / "gateway.pid").write_text(json.dumps({"pid": os.getpid()}))

    async def health(request):
        return web.json_response({"status": "ok"})

    async def models(request):
        right = request.headers.get("Authorization") == "Bearer " + key
        return web.json_response({"data": []}, status=200 if right else 401)

    app = web.Application()
    app.add_routes([web.get("/health", health), web.get("/v1/models", models)])
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def main():
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
    elif sys.argv[1:] == ["gateway", "run", "--replace"]:
        gateway(pathlib.Path(os.environ["HERMES_HOME"]))
    else:
        sys.exit(f"fake hermes: unexpected arguments {sys.argv[1:]}")
