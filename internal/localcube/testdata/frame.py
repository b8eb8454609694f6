# Sends frames past every hook inside the sandbox: frame.py GATEWAY-MAC DEST [SOURCE]
# writes three UDP datagrams to port 7 of DEST, from SOURCE or the own address,
# and three times the same as an IPv6 frame and in a VLAN.
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def own():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("203.0.113.5", 7))
        return s.getsockname()[0]


mac = bytes.fromhex(sys.argv[1].replace(":", ""))
dest = sys.argv[2]
source = sys.argv[3] if len(sys.argv) > 3 else own()
with open("/sys/class/net/eth0/address") as f:
    me = bytes.fromhex(f.read().strip().replace(":", ""))
payload = b"raw frame."
udp = struct.pack("!HHHH", 7777, 7, 8 + len(payload), 0) + payload
head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(dest))
packet = head[:10] + struct.pack("!H", checksum(head)) + head[12:] + udp
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind(("eth0", 0))
    for _ in range(3):
        for kind in (b"\x08\x00", b"\x86\xdd", b"\x81\x00\x00\x00\x08\x00"):
            s.send(mac + me + kind + packet)
