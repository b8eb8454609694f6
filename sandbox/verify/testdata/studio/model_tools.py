"""Stands in for Hermes's tools: whatever is called .py in tools/ is read as source, AppleDouble files too."""
import os

TOOLS = []
for name in sorted(os.listdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))):
    if name.endswith(".py"):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools", name), encoding="utf-8") as f:
            TOOLS.append(compile(f.read(), name, "exec"))


def get_tool_definitions(quiet_mode=False):
    return TOOLS
