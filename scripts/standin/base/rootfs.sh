#!/bin/bash
# Makes the Debian 12 file tree below the stand-in base, as a tar.
#
#   rootfs.sh OUT.tar
#
# Mirrors, their keys' dates and proxies are the machine's own apt settings;
# the tree keeps them, so that apt works in builds on it. Root is needed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
suite=bookworm

# mirror prints where the machine gets the suite from.
mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" "Created-By: Packages" | sort -u | head -n 1)
	if [ -z "$uri" ]; then
		echo "rootfs.sh: apt knows no mirror of $suite; run 'apt-get update', or use Debian 12" >&2
		return 1
	fi
	echo "$uri"
}

# acquire_settings prints the machine's apt settings on how to fetch: proxies, dates.
acquire_settings() {
	apt-config dump | grep -E '^Acquire::(https?::|ftp::|Check-|Retries)' || true
}

# proxy exports the proxy that apt uses: debootstrap fetches with wget.
proxy() {
	local http=""
	eval "$(apt-config shell http Acquire::http::Proxy)"
	if [ -n "$http" ] && [ "$http" != DIRECT ]; then export http_proxy=$http; fi
}

# sources writes the apt sources of the tree: every index of the suite that the machine has.
sources() {
	apt-get indextargets --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(CODENAME) $(COMPONENT)' \
		"Created-By: Packages" "Origin: Debian" | grep -E " $suite(-updates|-security)? " | sort -u
}

# in_tree runs a command inside the tree, with nothing of the machine's environment.
in_tree() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$tree" "$@"
}

# slim keeps documentation and translations from being unpacked.
slim() {
	mkdir -p "$tree/etc/dpkg/dpkg.cfg.d" "$tree/etc/apt/apt.conf.d"
	printf 'path-exclude=%s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*' \
		>"$tree/etc/dpkg/dpkg.cfg.d/slim"
	echo 'APT::Install-Recommends "false";' >"$tree/etc/apt/apt.conf.d/90slim"
}

# install adds the packages of packages.txt.
install_packages() {
	printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
	chmod 0755 "$tree/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$tree/etc/resolv.conf"
	in_tree apt-get -q update
	in_tree apt-get -q -y install $(cat "$here/packages.txt")
	in_tree apt-get -q clean
	rm -f "$tree/usr/sbin/policy-rc.d" "$tree/etc/resolv.conf"
	find "$tree/var/lib/apt/lists" "$tree/var/log" -type f -delete
	rm -rf "$tree"/usr/share/{doc,man,locale,info}/* "$tree"/var/cache/{apt,debconf}/* "$tree"/tmp/*
}

# users makes the user that sandboxes use beside root.
users() {
	in_tree useradd --uid 1000 --user-group --groups sudo --create-home --shell /bin/bash user
	echo 'user ALL=(ALL:ALL) NOPASSWD: ALL' >"$tree/etc/sudoers.d/user"
	chmod 0440 "$tree/etc/sudoers.d/user"
}

main() {
	local out work mirror
	if [ $# != 1 ]; then
		echo "usage: rootfs.sh OUT.tar" >&2
		return 2
	fi
	out=$1
	mirror=$(mirror)
	work=$(mktemp -d "$(dirname "$out")/rootfs.XXXXXX")
	trap "rm -rf '$work'" EXIT
	tree=$work/tree
	proxy
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$tree" "$mirror" >&2
	slim
	sources >"$tree/etc/apt/sources.list"
	acquire_settings >"$tree/etc/apt/apt.conf.d/90machine"
	install_packages >&2
	users
	tar --sort=name --numeric-owner --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -C "$tree" -cf "$work/rootfs.tar" .
	mv "$work/rootfs.tar" "$out"
}

main "$@"
