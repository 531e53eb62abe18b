#!/usr/bin/env bash
# Unpacks Debian's Caddy for the deep tests into ~/.cache/proctor-caddy or PROCTOR_CADDY_CACHE, and prints its path. Debian
# would start an installed one as a service.
set -eu
folder=${PROCTOR_CADDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/proctor-caddy}
if [ ! -d "$folder" ]; then
  partial="$folder.partial-$$"
  trap 'rm -rf "$partial"' EXIT
  mkdir -p "$partial"
  (cd "$partial" && apt-get download caddy >&2 && dpkg --extract caddy_*.deb . && rm caddy_*.deb)
  mv "$partial" "$folder"
fi
echo "$folder/usr/bin/caddy"
