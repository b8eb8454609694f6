# Stands for an Engine that may go and come back: relay.py SOCKET ENGINE passes
# on what comes to SOCKET, and says so once it listens.
import os
import socket
import sys
import threading


def copy(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
print("listening", flush=True)
while True:
    client, _ = listener.accept()
    engine = socket.socket(socket.AF_UNIX)
    engine.connect(sys.argv[2])
    for pair in ((client, engine), (engine, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
