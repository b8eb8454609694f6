PYTHON, HERMES = AGENT + "/.venv/bin/python", AGENT + "/.venv/bin/hermes"


def aside(args, limit):
    """A run on a home of its own: the agent's programs are judged, not what a home has."""
    at = tempfile.mkdtemp(prefix="hermesbox-verify-")
    try:
        return run(args, {"HOME": at, "HERMES_HOME": at + "/home", "HERMES_DISABLE_LAZY_INSTALLS": "1"}, limit, cwd=at)
    finally:
        shutil.rmtree(at, ignore_errors=True)


def imports():
    line = "import model_tools; print('tools', len(model_tools.get_tool_definitions(quiet_mode=True)))"
    return aside([PYTHON, "-I", "-c", line], 120)


def version():
    return aside([HERMES, "--version"], 60)


def listed():
    got = run([HERMES, "skills", "list"], {"HOME": "/root", "HERMES_HOME": HOME, "HERMES_DISABLE_LAZY_INSTALLS": "1"}, 120)
    return {**got, "err": masked(got["err"], *(head(HOME + "/" + name, 1 << 20) or b"" for name in ("config.yaml", ".env")))}


begin("imports", imports)
begin("version", version)
begin("listed", listed)
