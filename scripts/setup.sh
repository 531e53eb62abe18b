#!/usr/bin/env bash
# Installs what Proctor needs beyond npm; `setup.sh deep` what the deep tests need, too: a browser.
# Each line of `needs` is "command package", or "folder package".
set -eu
needs='git git
mkfifo coreutils
bwrap bubblewrap
unshare util-linux
openssl openssl
/usr/bin/python3 python3'
[ "${1:-}" = deep ] && needs="$needs
/usr/bin/chromium chromium
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
  echo "Proctor needs a little more than npm. Run this once, then start again:" >&2
  echo "  sudo sh -c '$install'" >&2
  exit 1
fi
