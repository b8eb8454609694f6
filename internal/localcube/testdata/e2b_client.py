"""Uses the local Cube through E2B's Python client, over TLS, as on a cluster with a wildcard certificate."""
import json
import socket
import sys
import time

template, port, shared = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lookup = socket.getaddrinfo


def local(host, service, *args, **kwargs):
    """Stands in for the DNS entry of *.cube.test, and for port 443."""
    if isinstance(host, (str, bytes)) and (host if isinstance(host, str) else host.decode()).endswith(".cube.test"):
        return lookup("127.0.0.1", port, *args, **kwargs)
    return lookup(host, service, *args, **kwargs)


socket.getaddrinfo = local

from e2b import CommandExitException, NotFoundException, Sandbox, SandboxException  # noqa: E402


def step(name):
    print("ok", name, flush=True)


sb = Sandbox.create(template, timeout=300, metadata={"owner": "bob"}, envs={"COLOUR": "blue"})
assert sb.is_running()
step("create")

assert sb.get_info().metadata["owner"] == "bob"
listed = Sandbox.list().next_items()
assert sb.sandbox_id in [s.sandbox_id for s in listed], listed
other = Sandbox.connect(sb.sandbox_id)
step("info, list, connect")

assert other.commands.run("echo $COLOUR").stdout == "blue\n"
try:
    sb.commands.run("echo err >&2; exit 5")
    raise AssertionError("exit 5 did not raise")
except CommandExitException as e:
    assert (e.exit_code, e.stderr) == (5, "err\n"), e
seen = []
sb.commands.run("echo a; sleep 0.3; echo b", on_stdout=lambda x: seen.append((time.monotonic(), x)))
assert len(seen) >= 2 and seen[-1][0] - seen[0][0] > 0.2, seen
background = sb.commands.run("sleep 1000", background=True)
assert background.pid in [p.pid for p in sb.commands.list()]
assert background.kill()
step("commands")

try:
    background.wait()
    raise AssertionError("a killed command did not raise")
except CommandExitException as e:
    assert e.exit_code != 0, e
reader = sb.commands.run("cat; echo end", background=True, stdin=True)
sb.commands.send_stdin(reader.pid, "typed\n")
sb.commands.close_stdin(reader.pid)
assert reader.wait().stdout == "typed\nend\n"
step("input")

sb.files.write("/home/user/a.txt", "hello")
assert sb.files.read("/home/user/a.txt") == "hello"
assert "a.txt" in [e.name for e in sb.files.list("/home/user")]
step("files")

from e2b import PtySize  # noqa: E402

pty = sb.pty.create(PtySize(rows=30, cols=90))
sb.pty.send_stdin(pty.pid, b"stty size; exit\n")
out = bytearray()
try:
    pty.wait(on_pty=out.extend)
except CommandExitException:
    pass
assert b"30 90" in out, out
step("pty")

sb.pause()
assert sb.get_info().state.value == "paused"
back = Sandbox.connect(sb.sandbox_id, timeout=60)
assert back.files.read("/home/user/a.txt") == "hello"
step("pause, connect")

back.set_timeout(1)
end = time.monotonic() + 10
while True:
    try:
        back.get_info()
    except NotFoundException:
        break
    assert time.monotonic() < end, "outlived its timeout"
    time.sleep(0.2)
assert not back.kill()
step("timeout")

sleepy = Sandbox.create(template, timeout=1, lifecycle={"on_timeout": "pause", "auto_resume": True})
end = time.monotonic() + 10
while sleepy.get_info().state.value != "paused":
    assert time.monotonic() < end, "not paused after its timeout"
    time.sleep(0.2)
assert sleepy.commands.run("echo awake").stdout == "awake\n"
assert sleepy.kill()
step("pause after the timeout, auto-resume")

rw, ro = [{"hostPath": "/data/shared/" + d, "mountPath": m, "readOnly": d == "ro"} for d, m in (("rw", "/workspace"), ("ro", "/opt/common"))]
mounted = Sandbox.create(template, timeout=300, metadata={"host-mount": json.dumps([rw, ro]), "owner": "carol"})
assert "host-mount" not in mounted.get_info().metadata
mounted.commands.run("echo kept > /workspace/made", user="root")
assert open(shared + "/rw/made").read() == "kept\n"
try:
    mounted.commands.run("echo x > /opt/common/given", user="root")
    raise AssertionError("a read-only mount was written to")
except CommandExitException as e:
    assert "Read-only file system" in e.stderr, e
step("host mounts")

# The policy itself is tried out with sockets elsewhere; here it is what the client sends that has to pass.
assert Sandbox.list(query=None).next_items()
mounted.update_network({"allow_internet_access": False, "allow_out": ["10.10.0.0/16"], "deny_out": lambda ctx: [ctx.all_traffic]})
mounted.update_network({})
for network in {"allow_out": ["10.0.0.0/33"]}, {"allow_out": ["example.com"]}:
    try:
        mounted.update_network(network)
        raise AssertionError(f"{network} was taken")
    except SandboxException as e:
        assert "400" in str(e), e
mounted.kill()
closed = Sandbox.create(template, timeout=300, allow_internet_access=False, network={"allow_out": ["10.10.0.0/16"], "allow_public_traffic": False})
assert closed.traffic_access_token
closed.kill()
step("network")
