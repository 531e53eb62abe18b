#!/usr/bin/env bash
# Installs the system packages that Proctor needs. `setup.sh deep` adds a browser and two shells for the deep tests.
# Each line of `needs` is "command package" or "folder package".
set -eu
needs='git git
mkfifo coreutils
bwrap bubblewrap
unshare util-linux
openssl openssl
/usr/bin/python3 python3'
[ "${1:-}" = deep ] && needs="$needs
/usr/bin/chromium chromium
zsh zsh
fish fish
/usr/share/fonts/opentype/inter fonts-inter"

missing=$(while read -r command package; do
  command -v "$command" >/dev/null 2>&1 || [ -d "$command" ] || printf '%s ' "$package"
done <<<"$needs")
[ -z "$missing" ] && exit 0

install="apt-get update && apt-get install --yes --no-install-recommends $missing"
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  bash -c "$install"
else
  echo "Proctor needs system packages that are not installed. Run this once, then try again:" >&2
  echo "  sudo sh -c '$install'" >&2
  exit 1
fi
