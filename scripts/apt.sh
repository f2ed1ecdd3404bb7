# SPDX-License-Identifier: MIT
#
# A private apt state: reads other suites and source packages while the
# system's own state stays as it is.  Sourced by sh scripts.

# Prints a deb-src line for every Debian suite that this machine installs from.
private_apt_suites()
{
	apt_key=/usr/share/keyrings/debian-archive-keyring.gpg
	apt_opt=
	[ ! -f $apt_key ] || apt_opt="[signed-by=$apt_key] "
	apt-get "$@" indextargets --format \
		'$(CREATED_BY)|$(ORIGIN)|$(REPO_URI) $(RELEASE) $(COMPONENT)' |
		sed -n "s#^Packages|Debian|#deb-src $apt_opt#p" | sort -u
}

# private_apt_init DIR [SUITE]: keeps the state in DIR, with those suites or
# with SUITE in their place.
private_apt_init()
{
	apt_dir=$1
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	private_apt_suites >"$apt_dir/suites"
	if [ ! -s "$apt_dir/suites" ]; then
		# The system's own lists are not there: small images drop them.
		mkdir -p "$apt_dir/system/partial"
		apt_system="-o Dir::State::lists=$apt_dir/system
			-o Dir::Cache=$apt_dir/cache -o APT::Sandbox::User=root"
		apt-get -q $apt_system update >"$apt_dir/log" 2>&1 ||
			tail -n 20 "$apt_dir/log" >&2
		private_apt_suites $apt_system >"$apt_dir/suites"
	fi
	if [ -n "${2:-}" ]; then
		sed -n "s# [^ -]* main\$# $2 main#p" "$apt_dir/suites" |
			sed 'p; s/^deb-src/deb/'
	else
		cat "$apt_dir/suites"
	fi >"$apt_dir/sources.list"
	[ -s "$apt_dir/sources.list" ] || {
		echo "apt knows no Debian suite" >&2
		return 1
	}
	private_apt update
}

# private_apt ARG...: apt-get with that state; its output is shown if it fails.
private_apt()
{
	apt-get -q -o Dir::Etc::sourcelist="$apt_dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State::lists="$apt_dir/lists" \
		-o Dir::Cache="$apt_dir/cache" -o APT::Default-Release= \
		-o APT::Sandbox::User=root "$@" >"$apt_dir/log" 2>&1 || {
		tail -n 20 "$apt_dir/log" >&2
		return 1
	}
}
