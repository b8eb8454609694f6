"""Uses the local Cube through CubeSandbox's own Python client, and fails where something is not as on a cluster."""
import json
import os
import sys
import threading
import time

from cubesandbox import ApiError, PtySize, Sandbox, SandboxNotFoundError, Template, TemplateNotFoundError

template, shared = sys.argv[1], sys.argv[2]


def step(name):
    print("ok", name, flush=True)


def refused(kind, call, words):
    try:
        call()
    except kind as e:
        assert words in str(e), f"{words!r} is not in {e}"
        return
    raise AssertionError(f"{words!r} was not refused")


def until(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


mount = [{"hostPath": "/data/shared/rw", "mountPath": "/workspace"}, {"hostPath": "/data/shared/ro", "mountPath": "/opt/common", "readOnly": True}]
assert Sandbox.health()["status"] == "ok"
refused(TemplateNotFoundError, lambda: Sandbox.create("tpl-none"), "template tpl-none not found")
sb = Sandbox.create(template, timeout=300, metadata={"owner": "alice", "host-mount": json.dumps(mount)}, envs={"COLOUR": "green"})
step("create")

found = Sandbox.connect(sb.sandbox_id)
assert found.sandbox_id == sb.sandbox_id and found.domain == sb.domain
assert [s["metadata"]["owner"] for s in Sandbox.list() if s["sandboxID"] == sb.sandbox_id] == ["alice"]
assert any(s["sandboxID"] == sb.sandbox_id for s in Sandbox.list_v2())
info = sb.get_info()
assert info["state"] == "running" and info["metadata"]["owner"] == "alice" and "host-mount" not in info["metadata"], info
step("connect, list, info")

r = sb.commands.run("echo out; echo err >&2; exit 7")
assert (r.stdout, r.stderr, r.exit_code) == ("out\n", "err\n", 7), r
assert sb.commands.run("echo $COLOUR").stdout == "green\n"
step("commands")

sb.files.write("/tmp/dir/a.txt", "hello")
assert sb.files.read("/tmp/dir/a.txt") == "hello" and sb.files.exists("/tmp/dir/a.txt")
assert [e["name"] for e in sb.files.list("/tmp/dir")] == ["a.txt"]
sb.files.remove("/tmp/dir/a.txt")
assert not sb.files.exists("/tmp/dir/a.txt")
step("files")

with open(shared + "/ro/given", "w") as f:
    f.write("given")
assert sb.commands.run("cat /opt/common/given; echo kept > /workspace/made").stdout == "given"
assert open(shared + "/rw/made").read() == "kept\n"
r = sb.commands.run("echo x > /opt/common/given")
assert r.exit_code != 0 and "Read-only file system" in r.stderr, r
refused(ApiError, lambda: Sandbox.create(template, metadata={"host-mount": json.dumps([{"hostPath": "/etc", "mountPath": "/m"}])}),
        '"host-mount" entry[0]: hostPath must be under one of [/data/shared/], got "/etc"')
refused(ApiError, lambda: Sandbox.create(template, metadata={"host-mount": json.dumps([{"hostPath": "/data/shared/none", "mountPath": "/m"}])}),
        "no such file or directory")
assert not os.path.exists(shared + "/none")
step("host mounts")

out, moments = bytearray(), []
pty = sb.pty.create(PtySize(rows=30, cols=90))


def chunk(data):
    out.extend(data)
    moments.append(time.monotonic())


reader = threading.Thread(target=lambda: pty.wait(on_data=chunk), daemon=True)
reader.start()
sb.pty.send_stdin(pty.pid, b"stty size; sleep 0.5; echo later; exit\n")
reader.join(10)
assert b"30 90" in out and b"later" in out, out
assert moments[-1] - moments[0] > 0.3, "the stream came in one burst"
step("pty")

sb.commands.run("echo 1 > /dev/shm/kept; nohup sleep 1000 >/dev/null 2>&1 &")
sb.pause()
assert sb.get_info()["state"] == "paused"
refused(ApiError, sb.pause, "already paused")
again = Sandbox.connect(sb.sandbox_id, timeout=60)
assert again.get_info()["state"] == "running"
assert again.commands.run("cat /dev/shm/kept; pgrep -c -x sleep").stdout == "1\n1\n"
refused(ApiError, again.resume, "already running")
step("pause, connect")

short = Sandbox.create(template, timeout=2)
for _ in range(4):
    time.sleep(0.8)
    short.commands.run("true")  # each request begins the window anew
until(lambda: short.sandbox_id not in [s["sandboxID"] for s in Sandbox.list()])
refused(SandboxNotFoundError, short.get_info, "not found")
step("idle timeout, kill")

sleepy = Sandbox.create(template, timeout=2, lifecycle={"on_timeout": "pause", "auto_resume": True})
until(lambda: sleepy.get_info()["state"] == "paused")
assert sleepy.commands.run("echo awake").stdout == "awake\n"
sleepy.set_timeout(-1)
assert sleepy.get_info().end_at is None
sleepy.kill()
refused(SandboxNotFoundError, sleepy.kill, "not found")
step("idle timeout, pause, auto-resume")

again.update_network({"allow_internet_access": False})
refused(ApiError, lambda: Sandbox.create(template, network={"allow_out": ["10.0.0.0/33"]}), "invalid CIDR or IP: 10.0.0.0/33")
step("network")

refused(TemplateNotFoundError, lambda: Template.get("tpl-none"), "template not found")
image = Template.get(template).create_request["containers"][0]["image"]["image"]
assert image.startswith("rfs-") and template in [t.template_id for t in Template.list()]
refused(ApiError, lambda: Template.delete(template), "template is still in use")
built = Template.build(image=os.environ["IMAGE"], writable_layer_size="1G", exposed_ports=[9000, 49983], probe_port=49983)
until(lambda: Template.get(built.template_id).status == "READY", 60)
Template.delete(built.template_id)
step("templates")

again.kill()
step("kill")
