# lock FILE [SECONDS]: takes an exclusive lock for the rest of the shell and of what it starts, or waits for it, 600 s by
# default. FILE is an absolute path in a directory that only root can write to. It is made, and stays.
# Returns 0, 1 where the lock is still held (lock_holder says by whom), or 2 where FILE cannot be used (lock_problem says
# why). While it waits, and where it fails, it says so on standard error. Safe under set -eu; wants the IFS and the globbing
# that a shell starts with.
#
# With flock, file descriptor 9 is the lock: what is started with 9>&- does not hold it. Without flock the lock is held by
# the highest number in FILE.d, and only while the process that it names is alive: numbers are never used again, so that
# whoever takes over from a killed process can do so at its own pace.
lock() {
	lock_holder='' lock_problem=''
	lock_end=$(($(date +%s) + ${2:-600}))
	lock_pid=$$
	lock_me="$(uname -n) $(lock_space) $lock_pid $(lock_start "$lock_pid" || echo 0) $(date -u +%Y-%m-%dT%H:%M:%SZ)"
	lock_check "$1" || return 2
	if command -v flock >/dev/null 2>&1; then
		lock_whole "$1"
	else
		lock_number "$1.d"
	fi
}

# lock_fail PROBLEM: always 1.
lock_fail() {
	lock_problem=$1
	echo "cannot lock: $1" >&2
	return 1
}

# lock_check FILE: refuses what would lead elsewhere, or hang.
lock_check() {
	case $1 in
	/*/*) ;;
	*) lock_fail "$1 is no absolute path below a directory" || return ;;
	esac
	if [ -L "${1%/*}" ]; then
		lock_fail "${1%/*} is a link"
	elif [ ! -d "${1%/*}" ]; then
		lock_fail "${1%/*} is no directory"
	elif [ -L "$1" ]; then
		lock_fail "$1 is a link"
	elif [ -e "$1" ] && [ ! -f "$1" ]; then
		lock_fail "$1 is no file"
	elif [ -L "$1.d" ]; then
		lock_fail "$1.d is a link"
	fi
}

# lock_space: where a process number means something: this boot, and this container.
lock_space() {
	lock_boot='' lock_ns=$(ls -l /proc/self/ns/pid 2>/dev/null) || :
	if [ -r /proc/sys/kernel/random/boot_id ]; then read -r lock_boot </proc/sys/kernel/random/boot_id || :; fi
	lock_ns=${lock_ns##*'['}
	lock_ns=${lock_ns%']'}
	echo "${lock_boot:-none} ${lock_ns:-none}"
}

# lock_start PID: when it started, in ticks; fails where it has ended.
lock_start() {
	lock_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	set -- ${lock_stat##*) }
	case ${1:-Z} in Z | X | x) return 1 ;; esac
	echo "${20:-none}"
}

# lock_alive HOST BOOT SPACE PID START TIME: whether that process may still run. What is on another machine or in another
# container cannot be asked.
lock_alive() {
	[ "$#" -eq 6 ] || return 1
	lock_here="$(uname -n) $(lock_space)"
	if [ "$1 $2 $3" = "$lock_here" ]; then
		[ "$(lock_start "$4" || :)" = "$5" ]
	elif [ "$1 ${lock_here##* }" = "${lock_here%% *} $3" ]; then
		return 1 # the same machine before it was started anew
	fi
}

# lock_name HOST BOOT SPACE PID START TIME: sets lock_holder.
lock_name() {
	lock_holder='a process that did not say its name'
	if [ "$#" -eq 6 ]; then
		lock_holder="process $4 on $1 since $6"
		lock_alive "$@" || lock_holder="what process $4 on $1 started at $6 and left running"
	fi
}

# lock_wait FILE HOLDER…: says for whom it waits, a bit of the time; 1 at its end.
lock_wait() {
	lock_file=$1
	shift
	lock_before=$lock_holder
	lock_name "$@"
	if [ "$(date +%s)" -ge "$lock_end" ]; then
		echo "still locked: $lock_file, by $lock_holder" >&2
		return 1
	fi
	if [ "$lock_holder" != "$lock_before" ]; then echo "waiting for $lock_file, which $lock_holder has locked" >&2; fi
}

lock_pause() { sleep 0.2 2>/dev/null || sleep 1; }

# lock_whole FILE: with flock.
lock_whole() {
	while :; do
		if ! (umask 077 && : >>"$1") 2>/dev/null; then
			lock_fail "$1 cannot be written" || return 2
		fi
		exec 9>>"$1"
		while :; do
			lock_code=0
			flock -n 9 2>/dev/null || lock_code=$?
			case $lock_code in
			0) break ;;
			1) ;;
			*) lock_fail "flock ended with code $lock_code" || { exec 9>&-; return 2; } ;;
			esac
			lock_wait "$1" $(head -n 1 <"$1" 2>/dev/null) || { exec 9>&-; return 1; }
			# Only some know -w, and a machine can be asleep meanwhile.
			if flock -w "$((lock_end - $(date +%s)))" 9 2>/dev/null; then break; fi
			lock_pause
		done
		# Another may have put a new file in place meanwhile.
		if [ ! -L "$1" ] && [ "$1" -ef /proc/self/fd/9 ]; then break; fi
		exec 9>&-
		lock_check "$1" || return 2
	done
	echo "$lock_me" 2>/dev/null >/proc/self/fd/9 || :
}

# lock_top DIR: the highest number in it.
lock_top() {
	lock_max=0
	for lock_entry in "$1"/*; do
		lock_entry=${lock_entry##*/}
		case $lock_entry in '' | *[!0-9]*) continue ;; esac
		if [ "$lock_entry" -gt "$lock_max" ]; then lock_max=$lock_entry; fi
	done
	echo "$lock_max"
}

# lock_number DIR: without flock.
lock_number() {
	if [ ! -d "$1" ] && ! mkdir -m 0700 "$1" 2>/dev/null && [ ! -d "$1" ]; then
		lock_fail "$1 cannot be made" || return 2
	fi
	lock_mine=$1/new.$lock_pid
	if ! (umask 077 && echo "$lock_me" >"$lock_mine") 2>/dev/null; then
		lock_fail "$lock_mine cannot be written" || return 2
	fi
	while :; do
		lock_seen=$(lock_top "$1")
		if lock_alive $(cat "$1/$lock_seen" 2>/dev/null); then
			lock_wait "$1" $(cat "$1/$lock_seen" 2>/dev/null) || { rm -f "$lock_mine"; return 1; }
			lock_pause
			continue
		fi
		# ln refuses a name that exists. One that was used and removed is no longer the highest.
		if ln "$lock_mine" "$1/$((lock_seen + 1))" 2>/dev/null; then
			if [ "$(lock_top "$1")" -eq "$((lock_seen + 1))" ]; then break; fi
			rm -f "$1/$((lock_seen + 1))"
		elif [ ! -f "$lock_mine" ]; then
			lock_fail "$lock_mine is gone" || return 2
		fi
	done
	lock_seen=$((lock_seen + 1))
	for lock_entry in "$1"/*; do
		case ${lock_entry##*/} in
		"$lock_seen") ;;
		new.*[!0-9]* | *[!0-9n.ew]*) ;;
		new.*) lock_alive $(cat "$lock_entry" 2>/dev/null) || rm -f "$lock_entry" ;;
		*) rm -f "$lock_entry" ;;
		esac
	done
	rm -f "$lock_mine"
}
