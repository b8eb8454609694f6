import re
import socket

LINE, FIELDS = 65536, 100


def fetch(link, path, headers, limit):
    """What a server answers: status, type and the first bytes of the body; ValueError where that is not HTTP. The library's
    client would take longer to load than most probes take."""
    lines = ["GET %s HTTP/1.1" % path, *("%s: %s" % pair for pair in headers.items()), "Accept-Encoding: identity", "Connection: close", "", ""]
    if any(re.search(r"[\0-\x1f\x7f]", line) for line in lines) or " " in path:
        raise ValueError("an address with spaces or control characters")
    link.sendall("\r\n".join(lines).encode("ascii"))
    with link.makefile("rb") as said:
        status, fields = opening(said)
        if status == 100:  # to be continued
            status, fields = opening(said)
        body = b"" if status in (204, 304) else content(said, fields, limit)
    return {"status": status, "type": fields.get("content-type", "").split(";")[0].strip().lower(), "body": body.decode("utf-8", "replace")}


def opening(said):
    """The status and the fields that an answer begins with; names are in small letters, and the first of a name counts."""
    first = said.readline(LINE)
    if not first:
        raise OSError("it ended the connection without an answer")
    status, fields = re.match(rb"HTTP/1\.[01] ([1-9]\d\d)\b", first), {}
    if not status:
        raise ValueError("it does not speak HTTP: %r" % first[:60])
    for _ in range(FIELDS):
        line = said.readline(LINE)
        if not line.strip():
            return int(status[1]), fields
        name, _, value = line.decode("latin-1").partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    raise ValueError("more than %d header fields" % FIELDS)


def content(said, fields, limit):
    """The first bytes of a body."""
    if fields.get("transfer-encoding", "").lower() != "chunked":
        length = fields.get("content-length")
        return said.read(limit if length is None else max(0, min(limit, int(length))))
    body = b""
    while len(body) < limit:
        size = int(said.readline(LINE).split(b";")[0], 16)
        if size <= 0:
            break
        body += said.read(min(size, limit - len(body)))
        if len(body) < limit:
            said.readline(LINE)
    return body
