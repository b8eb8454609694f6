def endpoint():
    """A turn against the model that the home's settings name, on a copy of them."""
    config, keys = (head(HOME + "/" + name, 1 << 20) or b"" for name in ("config.yaml", ".env"))
    at = tempfile.mkdtemp(prefix="hermesbox-verify-")
    try:
        for name, data in (("config.yaml", config), (".env", keys)):
            with open(os.open(at + "/" + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
                f.write(data)
        got = run([AGENT + "/.venv/bin/hermes", "chat", "-Q", "-q", "Answer with the one word pong."],
                  {"HOME": at, "HERMES_HOME": at, "HERMES_DISABLE_LAZY_INSTALLS": "1"}, 150, cwd=at)
        return {"code": got["code"], "answer": bool(got["out"].strip()), "turns": 1, "output": masked(got["out"] + got["err"], config, keys)[-1500:]}
    finally:
        shutil.rmtree(at, ignore_errors=True)


def stub():
    """A turn against a stub model on loopback, on a home of its own."""
    at = tempfile.mkdtemp(prefix="hermesbox-verify-")
    try:
        env = {"HOME": at, "HERMES_HOME": at + "/home", "HERMES_DISABLE_LAZY_INSTALLS": "1"}
        got = run([sys.executable, "-I", "-S", "-B", "-", AGENT + "/.venv/bin/hermes", at + "/home"], env, 170, cwd=at, data=ASKED["script"].encode())
        lines = got["out"].strip().splitlines()
        if got["code"] or not lines:
            return {"code": got["code"] or 1, "answer": False, "turns": 0, "output": got["err"][-1500:]}
        return json.loads(lines[-1])
    finally:
        shutil.rmtree(at, ignore_errors=True)


begin("turn", endpoint if ASKED.get("configured") else stub)
