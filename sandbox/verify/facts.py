import errno
import fcntl
import hashlib
import re

BASE_LITTER = "/usr/share/hermesbox/base-litter"
PATIENCE = 100
MANIFEST = "/usr/share/hermesbox/manifest"
LITTER = {"._", ".DS_Store", "__MACOSX", ".AppleDouble", ".LSOverride", "Icon\r"}
ROOT_LITTER = {".Spotlight-V100", ".Trashes", ".fseventsd", ".TemporaryItems", ".DocumentRevisions-V100", ".apdisk"}
MANY = 1000
TRASH = 20000


def is_litter(name, top):
    return name.startswith("._") or name in LITTER or top and name in ROOT_LITTER


def entries(root, skip=()):
    """All that is below a directory, whatever cannot be read left out; what skip has is told but not entered."""
    todo = [root]
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                for entry in found:
                    yield entry
                    if entry.is_dir(follow_symlinks=False) and entry.path not in skip:
                        todo.append(entry.path)
        except OSError:
            continue


def litter():
    found = []
    for root in (AGENT, HOME, SKILLS):
        for entry in entries(root):
            top = entry.name in ROOT_LITTER and os.path.dirname(entry.path) == root
            if is_litter(entry.name, top) and len(found) < TRASH:
                double = (head(entry.path, 4) or b"") == b"\0\5\x16\7"
                found.append({"path": text(entry.path), "double": double})
    return {"found": found, "elsewhere": elsewhere()}


def elsewhere():
    """Litter in the rest of the image, less what its base had; what is mounted is not of it."""
    found, base = [], set((head(BASE_LITTER, 1 << 20) or b"").split(b"\0"))
    skip = {AGENT, HOME, SKILLS, "/proc", "/sys", "/dev", "/tmp", "/workspace", "/run"}
    skip |= {re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split()[4]) for line in mounts()}
    for entry in entries("/", skip):
        if is_litter(entry.name, False) and os.fsencode(entry.path) not in base:
            found.append(text(entry.path))
        if len(found) == MANY:
            break
    return found


def made(below):
    """What the recipe makes itself below the agent's directory."""
    first = below.split("/")[0]
    return first == ".venv" or first.endswith(".egg-info") or "/__pycache__/" in "/" + below


def source():
    """Sums of the files, links that lead out, and what is neither file, link nor directory, which no source has."""
    lines, outside, odd = [], [], []
    for at, dirs, files in os.walk(AGENT):
        dirs[:] = [d for d in dirs if not made(os.path.relpath(os.path.join(at, d), AGENT) + "/x") or not os.path.isdir(os.path.join(at, d))]
        for name in dirs + files:
            path = os.path.join(at, name)
            below = os.path.relpath(path, AGENT)
            if made(below):
                continue
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink(path)
                if not os.path.normpath(os.path.join(at, target)).startswith(AGENT + "/"):
                    outside.append(text(below))
            elif stat.S_ISREG(mode):
                lines.append(digest(path).encode() + b"  " + os.fsencode(below) + b"\0")
            elif not stat.S_ISDIR(mode):
                odd.append(text(below))
    manifest = head(MANIFEST, 64 << 20)
    return {"manifest": None if manifest is None else packed(manifest), "files": packed(b"".join(lines)), "outside": outside[:MANY], "odd": odd[:MANY]}


HUGE = 2 << 30


def digest(path):
    """The sum of a file; one that is too long to be read, which costs nothing where it has holes, has none."""
    total, left = hashlib.sha256(), HUGE
    with regular(path) as f:
        while block := f.read(1 << 20):
            total.update(block)
            left -= len(block)
            if left < 0:
                return "-" * 64
    return total.hexdigest()


def version():
    """project.version of the source."""
    project, found = (head(AGENT + "/pyproject.toml", 1 << 20) or b"").decode("utf-8", "replace"), False
    for line in project.splitlines():
        if line.strip().startswith("["):
            found = line.strip() == "[project]"
        hit = re.match(r"\s*version\s*=\s*[\"']([^\"']+)", line)
        if found and hit:
            return hit.group(1)
    return ""


def mounts():
    with open("/proc/self/mountinfo", errors="backslashreplace") as f:
        return [line.rstrip("\n") for line in f]


def mounted():
    """All mounts, and by path which of them is seen there."""
    seen = {}
    for path in (HOME, "/workspace", SKILLS):
        try:
            fd = os.open(path, os.O_PATH | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            with open("/proc/self/fdinfo/%d" % fd) as f:
                seen[path] = next(line.split()[1] for line in f if line.startswith("mnt_id:"))
        finally:
            os.close(fd)
    return {"lines": mounts(), "seen": seen}


def write_probe():
    return {path: probe(path) for path in (HOME, "/workspace", SKILLS)}


def probe(path):
    """Empty where a file can be written, locked, kept, renamed and removed; else why not."""
    name = "%s/.hermesbox-probe-%s" % (path, MARK)
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
    try:
        with open(fd, "wb") as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            f.write(b"x" * 65536)
            f.flush()
            os.fsync(f.fileno())
        os.rename(name, name + "-2")
        name += "-2"
        return "" if os.stat(name).st_size == 65536 else "what was written is not there"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
    finally:
        os.unlink(name)


def home():
    config = head(HOME + "/config.yaml", 1 << 20)
    names = {}
    for entry in os.scandir(HOME):
        kind = "link" if entry.is_symlink() else "dir" if entry.is_dir() else "file"
        names[text(entry.name)] = kind
    return {"config": None if config is None else base64.b64encode(config).decode(), "names": names}


def public():
    """The public skills: how each stands in the home, and whether Hermes lists it here: not where it is for other systems
    or for some surroundings only."""
    found = {}
    for name in sorted(os.listdir(SKILLS)):
        skill, link = SKILLS + "/" + name, HOME + "/skills/" + name
        front = head(skill + "/SKILL.md", 65536)
        if front is None or not re.match(r"[a-z0-9][a-z0-9._-]*\Z", name):
            continue
        platforms = re.search(rb"^platforms:(.*(?:\n[ \t]*-.*)*)", front, re.M)
        gated = re.search(rb"^environments:", front, re.M)
        copy = os.path.isdir(link) and not os.path.islink(link) and tree(link) == tree(skill)
        found[name] = {"copy": copy, "here": not gated and (not platforms or b"linux" in platforms.group(1))}
    return {"skills": found, "dangling": dangling()[:MANY]}


OTHERS = {"node_modules", ".venv", "venv", ".git", ".hub", ".archive", "site-packages"}


def dangling():
    """Links in the home's skills that lead nowhere, but for what programs keep in directories of their own."""
    found, at = [], HOME + "/skills"
    for entry in entries(at):
        below = os.path.relpath(entry.path, at).split("/")
        if entry.is_symlink() and not os.path.exists(entry.path) and not OTHERS.intersection(below):
            found.append(text("/".join(below)))
    return sorted(found)


def tree(root):
    """A digest of names and contents."""
    total, files = hashlib.sha256(), 0
    for at, dirs, names in os.walk(root):
        dirs.sort()
        for name in sorted(names):
            path = os.path.join(at, name)
            files += 1
            if files > 5000 or not stat.S_ISREG(os.lstat(path).st_mode):
                return path
            total.update(os.path.relpath(path, root).encode("utf-8", "surrogateescape") + b"\0" + digest(path).encode())
    return total.hexdigest()


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                args = [a.decode("utf-8", "replace") for a in f.read(65536).split(b"\0")]
            with open("/proc/%s/stat" % pid) as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found.append((int(pid), args, int(fields[19]) / os.sysconf("SC_CLK_TCK"), int(fields[1])))
    return found


def booted():
    with open("/proc/stat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("btime"))


def listener(port):
    """The process that listens on a port, 0 where none does."""
    sockets = listening("/proc/net/tcp", port) or listening("/proc/net/tcp6", port)  # each takes the kernel a while
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir("/proc/%s/fd" % pid):
                if os.readlink("/proc/%s/fd/%s" % (pid, fd)) in sockets:
                    return int(pid)
        except OSError:
            continue
    return 0


def listening(table, port):
    """The sockets of a table that listen on a port."""
    try:
        with open(table) as f:
            rows = [line.split() for line in f.readlines()[1:]]
    except OSError:
        return set()
    return {"socket:[%s]" % r[9] for r in rows if r[3] == "0A" and int(r[1].rsplit(":", 1)[1], 16) == port}


def environment(pid):
    with open("/proc/%d/environ" % pid, "rb") as f:
        pairs = [p.partition(b"=") for p in f.read(1 << 20).split(b"\0") if b"=" in p]
    return {k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, _, v in pairs}


def web():
    """The process of the Web UI: who it is, and when it began."""
    pid = listener(9000)
    if not pid:
        return None
    env = environment(pid)
    began = next((s for p, _, s, _ in processes() if p == pid), None)
    return {"pid": pid, "uid": os.stat("/proc/%d" % pid).st_uid, "home": env.get("HOME"), "hermes_home": env.get("HERMES_HOME"),
            "began": None if began is None else booted() + began}


SECRET_FILES = {".token", ".env", "auth.json", ".anthropic_oauth.json", "google_oauth.json", "state.db", "hermes-web-ui.db", ".git-credentials",
                ".netrc", ".pypirc", "id_rsa", "id_ed25519", "id_ecdsa", "credentials.json"}
SIGNS = (("/root/.npmrc", b"_auth"), ("/etc/npmrc", b"_auth"), ("/root/.docker/config.json", b'"auth"'), ("/root/.aws/credentials", b"secret"),
         ("/root/.config/pip/pip.conf", b"@"), ("/etc/pip.conf", b"@"), ("/root/.config/gh/hosts.yml", b"oauth_token"))


def secrets():
    """Names only, never a value, and when each file was last changed. A password in an address is one too."""
    env = environment(1)
    inside = sorted(name for name, value in env.items() if re.search(r"://[^/\s:@]*:[^/\s@]+@", value))
    found = [AGENT + "/" + n for n in SECRET_FILES if head(AGENT + "/" + n, 1)]
    for root in ("/root", "/home", "/usr/share/hermesbox", "/opt/hermes-web-ui", "/etc/hermes"):
        for at, dirs, names in os.walk(root):
            if at in (HOME, SKILLS):
                dirs[:] = []
                continue
            dirs[:] = [d for d in dirs if d not in ("node_modules", ".venv", ".git")]
            found += [os.path.join(at, n) for n in names if is_secret(at, n)]
    found += [path for path, sign in SIGNS if sign in (head(path, 65536) or b"")]
    return {"init": sorted(name for name, value in env.items() if value), "addresses": inside, "files": sorted(filter(None, map(changed, found)), key=lambda f: f["path"])[:MANY]}


def is_secret(at, name):
    real = os.path.realpath(os.path.join(at, name))
    if real.startswith(HOME + "/"):
        return False
    if name in SECRET_FILES:
        return bool(head(real, 1))
    return os.path.basename(at) == ".ssh" and b" PRIVATE KEY-----" in (head(real, 64) or b"")


def changed(path):
    try:
        return {"path": text(path), "at": os.stat(path).st_ctime}
    except OSError:
        return None


def system():
    disks = {}
    for path in ("/", HOME, "/workspace"):
        try:
            room = os.statvfs(path)
            disks[path] = {"free": room.f_bavail * room.f_frsize, "files": room.f_favail if room.f_files else None}
        except OSError:
            continue
    gateways = {}
    running = {pid: (args, parent) for pid, args, _, parent in processes() if is_gateway(args)}
    for pid, (args, parent) in running.items():
        if parent not in running:  # not on its way to become another program
            gateways.setdefault(text(home_of(pid, args)), []).append(pid)
    log = (tail("%s/web-ui/logs/supervisor.log" % HOME, 65536) or b"").decode("utf-8", "replace")
    ends = re.findall(r"^(\S+Z) the Web UI ended with exit code (\d+)", log, re.M)
    starts = (tail(HOME + "/gateway-starts.log", 65536) or b"").decode("utf-8", "replace").split()
    end = head("/run/hermesbox-web-ui.end", 64)
    return {"began": BEGAN, "now": time.time(), "disks": disks, "gateways": gateways, "ends": ends[-20:], "ended": None if end is None else end.decode("utf-8", "replace").strip(),
            "starts": [float(s) for s in starts if re.match(r"[0-9.]+\Z", s)][-50:]}


def is_gateway(args):
    """hermes … gateway run, also as a module of Python, and not a shell that has these words in a line."""
    words = [os.path.basename(a) for a in args[:4]]
    at = next((n for n, w in enumerate(words) if w in ("hermes", "hermes_cli.main") and (n == 0 or words[0].startswith("python"))), len(args))
    rest = [a for a in args[at + 1:] if a]
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in ("-p", "--profile") else 1:]
    return rest[:1] == ["gateway"] and (len(rest) == 1 or rest[1] == "run" or rest[1].startswith("-"))


def home_of(pid, args):
    """The home that a gateway has: a profile's is its own."""
    try:
        home = environment(pid).get("HERMES_HOME") or HOME
    except OSError:
        home = HOME
    for n, arg in enumerate(args):
        if arg.startswith("--profile="):
            return "%s/profiles/%s" % (home, arg[10:])
        if arg in ("-p", "--profile") and n + 1 < len(args):
            return "%s/profiles/%s" % (home, args[n + 1])
    return home


def local():
    """What the two ports answer from inside."""
    return {"49983": get(49983, "/health"), "9000": get(9000, "/"), "health": get(9000, "/health")}


def get(port, path):
    def ask():
        with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
            got = fetch(link, path, {"Host": "127.0.0.1:%d" % port}, 4096)
        return {"status": got["status"], "body": got["body"]}

    try:
        return within(20, ask)
    except (OSError, ValueError) as e:
        return {"status": 0, "body": str(e)}


def nonces():
    """What is in these files, and those that are gone then: the node need not be asked again."""
    seen, removed = {}, []
    for path in ASKED.get("nonces", []):
        seen[path] = (head(path, 1024) or b"").decode("utf-8", "replace").strip()
        try:
            os.unlink(path)
            removed.append(path)
        except OSError:
            continue
    return {"seen": seen, "removed": removed}


def marker():
    """What a sandbox on these directories sees of another's mark."""
    seen = {path: (head(path, 1024) or b"").decode("utf-8", "replace").strip() for path in ASKED.get("markers", [])}
    return {"seen": seen, "workspace": sorted(text(n) for n in os.listdir("/workspace"))[:MANY], "skills": skills()}


def skills():
    """The names in the home's skills, links marked as such, without what Hermes keeps there for itself."""
    at = HOME + "/skills"
    if not os.path.isdir(at):
        return []
    return sorted(text(n) + (" -> " + text(os.readlink(at + "/" + n)) if os.path.islink(at + "/" + n) else "") for n in os.listdir(at) if not n.startswith("."))


for name, gather in (("litter", litter), ("source", source), ("version", version), ("mounts", mounted), ("write", write_probe), ("home", home),
                     ("public", public), ("web", web), ("secrets", secrets), ("system", system), ("local", local), ("nonces", nonces), ("marker", marker)):
    section(name, gather)
section("ended", time.time)
