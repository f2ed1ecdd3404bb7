# SPDX-License-Identifier: MIT
#
# What depends on files alone need not be done again: minutes of CPU time.  Sourced by bash
# scripts that print TAP, after tests/lib/tap.sh.

# known_key TEXT...: a name for the driver, the script as they are, and the texts.
known_key()
{
	{ echo "$@"; cat "$0"; cd "$top" && find Kbuild Kconfig driver uapi -type f -print0 |
		sort -z | xargs -0 sha256sum; } | sha256sum | cut -c 1-32
}

# known NAME CHECK TEXT...: the results of CHECK, a function, which are remembered if all are good.
known()
{
	local cache=${XDG_CACHE_HOME:-$HOME/.cache}/cnnacc/$1 check=$2 key out

	shift 2
	key=$(known_key "$@")
	if [ "$(head -n 1 "$cache" 2>/dev/null)" = "# $key" ]; then
		cat "$cache"
		exit 0
	fi
	out=$(mktemp)
	("$check") | tee "$out"
	if [ "${PIPESTATUS[0]}" -ne 0 ]; then
		rm -f "$out"
		exit 1
	fi
	mkdir -p "$(dirname "$cache")"
	{ echo "# $key"; cat "$out"; } >"$cache"
	rm -f "$out"
}
