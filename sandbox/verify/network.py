import errno
from urllib.parse import urlsplit


def reach(address, to):
    """Goes to a model endpoint layer by layer; to tells how far that is."""
    at = urlsplit(address)
    port = at.port or (443 if at.scheme == "https" else 80)
    if ":" in at.hostname:
        raise OSError("an IPv6 address, and the network of sandboxes is IPv4 alone")
    found = socket.getaddrinfo(at.hostname, port, socket.AF_INET, socket.SOCK_STREAM)
    to["layer"] = "connect"
    with connect([f[4] for f in found], to) as link:
        if at.scheme == "https":
            to["layer"] = "tls"
            import ssl  # here, since that takes a while

            link = ssl.create_default_context().wrap_socket(link, server_hostname=at.hostname)
        to["layer"] = "http"
        to.update(ask(link, at), layer="", error="")


def connect(addresses, to):
    """A connection to the first of the addresses that takes one, as clients make it."""
    for number, address in enumerate(addresses):
        to["address"] = "%s:%d" % address
        try:
            return socket.create_connection(address, timeout=8)
        except OSError:
            if number + 1 == len(addresses):
                raise


def ask(link, at):
    link.settimeout(15)
    base = at.path.rstrip("/")
    path = base + "/models" if base.endswith("/v1") else base + "/v1/models"
    got = fetch(link, path, {"Host": at.netloc, "Accept": "application/json"}, 2048)
    return {**got, "path": path, "body": got["body"][:200]}


# What says nothing about the network.
OURS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.EAGAIN}


def refused(address, to):
    """No layer where a connection comes about, which should not, or why none does."""
    host, port = address.replace("gateway", gateway()).rsplit(":", 1)
    to["address"] = host + ":" + port
    try:
        socket.create_connection((host, int(port)), timeout=4).close()
        to.update(layer="", error="")
    except OSError as e:
        if e.errno in OURS:
            raise
        to.update(layer="connect", error=str(e))


def gateway():
    try:
        with open("/proc/net/route") as f:
            rows = [line.split() for line in f.readlines()[1:]]
    except OSError:
        return "0.0.0.0"
    raw = next((r[2] for r in rows if r[1] == "00000000" and r[2] != "00000000"), "00000000")
    return ".".join(str(b) for b in reversed(bytes.fromhex(raw)))


LIMIT = 30


def each(what, addresses, layer):
    """How far each came, within a limit: one that does not end is told of as it stands, and keeps no other waiting."""
    found = {a: {"layer": layer, "error": "no end within %d seconds" % LIMIT} for a in addresses}

    def job(address):
        try:
            what(address, found[address])
        except Exception as e:
            found[address]["error"] = str(e) or type(e).__name__

    threads, until = [threading.Thread(target=job, args=(a,), daemon=True) for a in found], time.monotonic() + LIMIT
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until - time.monotonic()))
    return {a: dict(to) for a, to in found.items()}


begin("allowed", lambda: each(reach, ASKED["allowed"], "resolve"))
begin("denied", lambda: each(refused, ASKED["denied"], "unknown"))
