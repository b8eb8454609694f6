"""What every probe begins with: sections of facts, and one answer, which ends it.

Arguments: the mark of this run and a JSON object with what is asked. The answer is a line "MARK LENGTH", LENGTH bytes of
JSON, and a line "MARK end". Nothing else is printed, so that nothing that a program of the sandbox says is taken for it.
"""
import base64
import json
import os
import stat
import sys
import threading
import time
import zlib

MARK, ASKED = sys.argv[1], json.loads(sys.argv[2])
FACTS, BEGUN = {}, []
HOME, SKILLS, AGENT = "/root/.hermes", "/opt/hermes-common-skills", "/opt/hermes-agent"
BEGAN = time.time()
PATIENCE = 165
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


def begin(name, gather):
    """A section that is gathered beside others; the answer waits for it."""
    BEGUN.append(threading.Thread(target=section, args=(name, gather)))
    BEGUN[-1].start()


def answer():
    for thread in BEGUN:
        thread.join()
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
