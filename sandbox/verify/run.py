import re
import shutil
import signal
import subprocess
import tempfile

SAID = 32 << 20
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
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
