import http.client
import socket
import ssl
import threading
from urllib.parse import urlsplit


def reach(address):
    """Goes to a model endpoint layer by layer, and tells where that ends."""
    at = urlsplit(address)
    port = at.port or (443 if at.scheme == "https" else 80)
    base = at.path.rstrip("/")
    path = base + "/models" if base.endswith("/v1") else base + "/v1/models"
    try:
        found = socket.getaddrinfo(at.hostname, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    except OSError as e:
        return {"layer": "resolve", "error": str(e)}
    to = {"address": "%s:%d" % found}
    try:
        link = socket.create_connection(found, timeout=8)
    except OSError as e:
        return {**to, "layer": "connect", "error": str(e)}
    with link:
        if at.scheme == "https":
            try:
                link = ssl.create_default_context().wrap_socket(link, server_hostname=at.hostname)
            except (OSError, ValueError) as e:
                return {**to, "layer": "tls", "error": str(e)}
        return {**to, **ask(link, at, path)}


def ask(link, at, path):
    try:
        link.settimeout(15)
        to = http.client.HTTPConnection(at.hostname)
        to.sock = link
        to.request("GET", path, headers={"Host": at.netloc, "Accept": "application/json", "Connection": "close"})
        got = to.getresponse()
        body = got.read(2048).decode("utf-8", "replace")
        return {"layer": "", "path": path, "status": got.status, "type": got.headers.get_content_type(), "body": body[:200]}
    except (OSError, http.client.HTTPException) as e:
        return {"layer": "http", "error": str(e) or type(e).__name__}


def refused(address):
    """Empty where a connection comes about, which should not."""
    host, port = address.replace("gateway", gateway()).rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=4).close()
        return {"address": host + ":" + port, "error": ""}
    except OSError as e:
        return {"address": host + ":" + port, "error": str(e)}


def gateway():
    try:
        with open("/proc/net/route") as f:
            rows = [line.split() for line in f.readlines()[1:]]
    except OSError:
        return "0.0.0.0"
    raw = next((r[2] for r in rows if r[1] == "00000000" and r[2] != "00000000"), "00000000")
    return ".".join(str(b) for b in reversed(bytes.fromhex(raw)))


def each(what, addresses):
    found, threads = {}, []
    for address in addresses:
        threads.append(threading.Thread(target=lambda a=address: found.update({a: what(a)})))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return found


section("allowed", lambda: each(reach, ASKED["allowed"]))
section("denied", lambda: each(refused, ASKED["denied"]))
section("gateway", gateway)
answer()
