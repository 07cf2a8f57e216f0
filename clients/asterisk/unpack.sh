#!/bin/sh
# Unpacks an Asterisk into a folder, with all that it needs of Debian, down to its C library, and installs nothing: Debian 12 has none, so it is the one of
# Debian's unstable suite, from the mirror that this machine uses. It takes some seconds, and 90 MB are fetched.
set -eu
to=$1
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/etc/preferences.d" "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
[ -d /etc/apt/apt.conf.d ] && cp -r /etc/apt/apt.conf.d "$apt/etc/" && rm -f "$apt"/etc/apt.conf.d/docker-* # which remove what was fetched
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$') || { echo "apt names no mirror of Debian (apt-get indextargets)" >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/etc/sources.list"
apart() {
	cmd=$1
	shift
	"$cmd" -q -o Dir::Etc="$apt/etc" -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root "$@"
}
apart apt-get update >/dev/null
apart apt-get install --download-only --no-install-recommends -y asterisk >/dev/null
rm -rf "$to"
mkdir -p "$to"
for package in "$apt"/cache/archives/*.deb; do
	dpkg -x "$package" "$to"
done
"$to/usr/lib64/ld-linux-x86-64.so.2" --library-path "$to/usr/lib/x86_64-linux-gnu" "$to/usr/sbin/asterisk" -V
