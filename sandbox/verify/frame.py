"""What every probe begins with: sections of facts, gathered one by one, and one answer at the end.

Arguments: the mark of this run and a JSON object with what is asked. The answer is a line "MARK LENGTH", LENGTH bytes of
JSON, and a line "MARK end". Nothing else is printed, so that nothing that a program of the sandbox says is taken for it.
"""
import base64
import json
import os
import subprocess
import sys
import time
import zlib

MARK, ASKED = sys.argv[1], json.loads(sys.argv[2])
FACTS = {}
HOME, SKILLS, AGENT = "/root/.hermes", "/opt/hermes-common-skills", "/opt/hermes-agent"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def section(name, gather):
    """A section that cannot be gathered tells why; the others do not suffer."""
    if ASKED.get("want") and name not in ASKED["want"]:
        return
    began = time.monotonic()
    try:
        facts = {"data": gather()}
    except Exception as e:
        facts = {"error": "%s: %s" % (type(e).__name__, e)}
    facts["ms"] = int((time.monotonic() - began) * 1000)
    FACTS[name] = facts


def answer():
    body = json.dumps(FACTS).encode()
    out = sys.stdout.buffer
    out.write(b"%s %d\n" % (MARK.encode(), len(body)))
    out.write(body)
    out.write(b"\n%s end\n" % MARK.encode())
    out.flush()


def text(name):
    """A file name as text; bytes that are no UTF-8 show as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def packed(data):
    return base64.b64encode(zlib.compress(data, 1)).decode()


def head(path, limit):
    """The first bytes of a regular file, None where there is none. Links in the last place are not followed."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as f:
            return f.read(limit)
    except OSError:
        return None


def run(args, env, limit, cwd="/", data=None):
    """What a program did; it gets this environment alone."""
    base = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "COLUMNS": "200", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    stdin = {"stdin": subprocess.DEVNULL} if data is None else {"input": data}
    try:
        done = subprocess.run(args, env={**base, **env}, cwd=cwd, capture_output=True, timeout=limit, **stdin)
    except subprocess.TimeoutExpired:
        return {"code": -1, "out": "", "err": "no end within %d seconds" % limit}
    except OSError as e:
        return {"code": 127, "out": "", "err": str(e)}
    cut = lambda b: b[-200000:].decode("utf-8", "replace")
    return {"code": done.returncode, "out": cut(done.stdout), "err": cut(done.stderr)}
