"""What every probe begins with: sections of facts, gathered one by one, and one answer at the end.

Arguments: the mark of this run and a JSON object with what is asked. The answer is a line "MARK LENGTH", LENGTH bytes of
JSON, and a line "MARK end". Nothing else is printed, so that nothing that a program of the sandbox says is taken for it.
"""
import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib

MARK, ASKED = sys.argv[1], json.loads(sys.argv[2])
FACTS = {}
HOME, SKILLS, AGENT = "/root/.hermes", "/opt/hermes-common-skills", "/opt/hermes-agent"
BEGAN = time.time()
SAID = 32 << 20
PATIENCE = 165
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


UNTIL = time.monotonic() + 165


def within(limit, gather):
    """What gather gives or raises; a TimeoutError where that takes too long."""
    got = {}

    def job():
        try:
            got["data"] = gather()
        except Exception as e:
            got["error"] = e

    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    thread.join(limit)
    got = dict(got) or {"error": TimeoutError("no end within %d seconds" % limit)}
    if "error" in got:
        raise got["error"]
    return got["data"]


def section(name, gather):
    """A section that cannot be gathered, or not in the time that there is, tells why; the others do not suffer."""
    if ASKED.get("want") and name not in ASKED["want"]:
        return
    began = time.monotonic()
    try:
        facts = {"data": within(max(1, min(PATIENCE, UNTIL - began)), gather)}
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
    os._exit(0)  # whatever has not ended


def text(name):
    """A file name as text; bytes that are no UTF-8 show as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def packed(data):
    return base64.b64encode(zlib.compress(data, 1)).decode()


def regular(path):
    """A regular file, opened for reading; OSError where there is none. Links in the last place are not followed."""
    f = open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if stat.S_ISREG(os.fstat(f.fileno()).st_mode):
        return f
    f.close()
    raise OSError("%s is no regular file" % path)


def head(path, limit):
    """The first bytes of a regular file, None where there is none."""
    try:
        with regular(path) as f:
            return f.read(limit)
    except OSError:
        return None


def tail(path, limit):
    """The last bytes of a regular file, None where there is none."""
    try:
        with regular(path) as f:
            f.seek(max(0, os.fstat(f.fileno()).st_size - limit))
            return f.read(limit)
    except OSError:
        return None


SECRET = re.compile(r"""[\w.-]*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)[\w.-]*["']?\s*[:=]\s*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'#,}]+))""", re.I)


def masked(said, *settings):
    """What a program said, without the secrets of these settings."""
    values = {v for text in settings for found in SECRET.findall(text.decode("utf-8", "replace")) for v in found if len(v) > 3}
    for value in sorted(values, key=len, reverse=True):
        said = said.replace(value, "***")
    return said


def run(args, env, limit, cwd="/", data=b""):
    """What a program did; it gets this environment alone. What it started ends with it, and what it says goes to files
    that cannot grow beyond a bound, so that it can neither keep us waiting nor fill the memory."""
    base = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "COLUMNS": "1000", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        try:
            program = subprocess.Popen(args, env={**base, **env}, cwd=cwd, stdin=given, stdout=out, stderr=err, start_new_session=True)
        except OSError as e:
            return {"code": 127, "out": "", "err": str(e)}
        problem, until = "", time.monotonic() + limit
        while program.poll() is None and not problem:
            if time.monotonic() > until:
                problem = "no end within %d seconds" % limit
            elif os.fstat(out.fileno()).st_size + os.fstat(err.fileno()).st_size > SAID:
                problem = "it says too much"
            else:
                time.sleep(0.05)
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except OSError:
            pass
        code = program.wait()
        return {"code": -1, "out": "", "err": problem} if problem else {"code": code, "out": end(out), "err": end(err)}


def end(file):
    """The end of what was written to a file, as text."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - 200000))
    return file.read(200000).decode("utf-8", "replace")
