"""Asks for one URL and prints the status and the body as a JSON line.

Arguments: the URL, and a file with a bearer token or nothing.
"""
import json
import sys
import urllib.error
import urllib.request

request = urllib.request.Request(sys.argv[1])
if len(sys.argv) > 2 and sys.argv[2]:
    with open(sys.argv[2]) as f:
        request.add_header("Authorization", "Bearer " + f.read().strip())
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(request, timeout=10) as response:
        print(json.dumps({"status": response.status, "body": response.read(4096).decode(errors="replace")}))
except urllib.error.HTTPError as e:
    print(json.dumps({"status": e.code, "body": e.read(4096).decode(errors="replace")}))
except OSError as e:
    print(json.dumps({"status": 0, "error": str(e)}))
