# Tries to reach port 7 (or the one given after a colon) of each address, and
# prints for each "tcp ADDRESS RESULT" and "udp ADDRESS RESULT": the result is
# pass, refused, silent, or the error. An argument without a digit in front is a
# name to resolve: "name NAME ADDRESS" or "name NAME none".
import socket
import sys
import threading

answers = []


def endpoint(text):
    host, _, port = text.partition(":")
    return host, int(port or 7)


def judged(attempt):
    try:
        return attempt()
    except ConnectionRefusedError:
        return "refused"
    except (TimeoutError, socket.timeout):
        return "silent"
    except OSError as e:
        return str(e)


def tcp(text):
    with socket.create_connection(endpoint(text), 3) as s:
        s.settimeout(3)
        s.sendall(b"x" * 40)
        return "pass" if s.recv(1) else "closed"


def udp(text):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.5)
        for last in (False, False, True):
            s.sendto(b"x" * 40, endpoint(text))
            try:
                s.recv(1)
                return "pass"
            except (TimeoutError, socket.timeout):
                if last:
                    raise


def name(text):
    """Asks the container's own resolver, as libc does but with less patience."""
    with open("/etc/resolv.conf") as f:
        server = next(line.split()[1] for line in f if line.startswith("nameserver"))
    labels = b"".join(bytes([len(label)]) + label.encode() for label in text.split("."))
    query = b"hb\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        for _ in range(2):
            s.sendto(query, (server, 53))
            try:
                answer = s.recv(512)
            except (TimeoutError, socket.timeout):
                continue
            if answer[3] & 15 == 0 and answer[7]:
                return socket.inet_ntoa(answer[-4:])
    return "none"


def ask(kind, how, text):
    answers.append(f"{kind} {text} {judged(lambda: how(text))}")


threads = []
for text in sys.argv[1:]:
    kinds = [("tcp", tcp), ("udp", udp)] if text[0].isdigit() else [("name", name)]
    threads += [threading.Thread(target=ask, args=(kind, how, text)) for kind, how in kinds]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("\n".join(sorted(answers)))
