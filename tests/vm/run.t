#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/vm/run: output, exit status and limits.
set -u

here=$(dirname "$0")
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

guest()
{
	"$here/run" --device none --no-module "$@" \
		>"$work/out" 2>"$work/err" </dev/null
	status=$?
	sed 's/^/# /' "$work/err"
}

all_bytes()
{
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)'
}

# One boot for everything about a command that succeeds.
mkdir "$work/share"
all_bytes >"$work/share/bytes"
cat >"$work/share/cmd" <<'EOF'
cat /mnt/bytes
echo "some error" >&2
echo "via dev" >/dev/stderr
printf '%s\n' "$@" >/mnt/args
id -u >/mnt/uid
EOF
guest --share "$work/share" -- sh /mnt/cmd 'a  b' "c'd" '' $'e\tf$g'
is "status of a command that succeeds" $status 0
ok "stdout arrives unchanged" cmp "$work/out" "$work/share/bytes"
is "stderr is separate" "$(cat "$work/err")" "some error
via dev"
is "arguments arrive unchanged" "$(cat "$work/share/args")" \
	"$(printf '%s\n' 'a  b' "c'd" '' $'e\tf$g')"
is "the command runs as root" "$(cat "$work/share/uid")" 0

guest -- sh -c 'printf partial; exit 37'
is "status of a command that fails" $status 37
is "output without a last newline" "$(cat "$work/out"; echo .)" "partial."
log=$(sed -n "s/^run: the kernel's log is in //p" "$work/err")
ok "the kernel's log is kept" grep -q 'Linux version' "$log"

guest --append 'rdinit=/none root=/none' -- true
is "status of a kernel that panics" $status 123
is "a kernel that dies before process 1 is booted once more" \
	"$(grep -c 'booting again' "$work/err")" 1

guest --machine nonesuch -- true
is "status of an unknown machine" $status 125
ok "the machines are named" grep -q '^run: --machine nonesuch: must be q35, virt-arm64' "$work/err"

guest -- no-such-command
is "status of a command that does not exist" $status 127

start=$SECONDS
guest --timeout 8 -- sleep 1000
is "status after the time limit" $status 124
ok "the time limit holds" [ $((SECONDS - start)) -lt 250 ]

guest --timeout 0 -- true
is "a time limit of 0 is refused" $status 125

guest -- sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at made/up.c:1" >/dev/kmsg; echo end'
is "status after a kernel warning" $status 123
is "output before a kernel warning" "$(cat "$work/out")" end

guest -- sh -c 'echo c >/proc/sysrq-trigger; sleep 100'
is "status after a kernel panic" $status 123

guest -- poweroff -f
is "status of a guest that dies" $status 125

guest --kernel "$work/none" -- true
is "status without a kernel" $status 125

start=$SECONDS
"$here/run" --device none --no-module -- yes 2>/dev/null | head -c 3 >"$work/out"
is "the reader gets the output that it reads" "$(cat "$work/out")" "y
y"
ok "the guest is stopped when its reader stops" [ $((SECONDS - start)) -lt 250 ]

tap_done
