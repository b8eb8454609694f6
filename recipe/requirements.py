"""Reads what a Hermes Agent source needs from its pyproject.toml; prints one requirement or extra a line.

    requirements.py python          the running Python fits requires-python, or exit 1
    requirements.py build           what its build backend needs
    requirements.py extras a,b      the extras to install: those named, and the smallest one with aiohttp
    requirements.py project a,b     everything but the project itself, with those extras

Without aiohttp the gateway has no API server, and the Web UI cannot chat; no extra that is asked for brings it.
"""

import pathlib
import platform
import sys
import tomllib

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import canonicalize_name

PYPROJECT = pathlib.Path("/opt/hermes-agent/pyproject.toml")


def names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def check_python(project):
    wanted = project.get("requires-python", "")
    if not SpecifierSet(wanted).contains(platform.python_version(), prereleases=True):
        sys.exit(f"requirements.py: the base's Python is {platform.python_version()}, the source wants {wanted}; "
                 "choose another base, or name another interpreter with --build-arg PYTHON=…")


def with_aiohttp(project, extras):
    """The extras, and the smallest one that names aiohttp where none of them does."""
    optional = project.get("optional-dependencies", {})
    unknown = [extra for extra in extras if extra not in optional]
    if unknown:
        sys.exit(f"requirements.py: the source has no extra {unknown[0]!r}; it has: {', '.join(sorted(optional))}")
    if any(mentions_aiohttp(r) for r in expand(project, extras)):
        return extras
    having = [e for e, reqs in optional.items() if any(mentions_aiohttp(r) for r in reqs)]
    return extras + sorted(having, key=lambda e: (len(optional[e]), e))[:1]


def mentions_aiohttp(requirement):
    return canonicalize_name(Requirement(requirement).name) == "aiohttp"


def expand(project, extras, seen=()):
    """Requirements with the project's references to its own extras resolved."""
    own = canonicalize_name(project["name"])
    optional = project.get("optional-dependencies", {})
    lines = list(project.get("dependencies", [])) if not seen else []
    for extra in extras:
        lines += optional.get(extra, [])
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        if canonicalize_name(requirement.name) != own:
            yield line
            continue
        nested = [e for e in sorted(requirement.extras) if e not in seen]
        yield from expand(project, nested, (*seen, *extras, *nested))


def main(command, extras=""):
    pyproject = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = pyproject["project"]
    if command == "python":
        check_python(project)
        return
    if command == "build":
        lines = pyproject.get("build-system", {}).get("requires", ["setuptools"])
    else:
        lines = with_aiohttp(project, names(extras))
        if command == "project":
            lines = sorted(set(expand(project, lines)))
            if not any(mentions_aiohttp(line) for line in lines):
                lines.append("aiohttp")
    print("\n".join(lines))


main(*sys.argv[1:])
