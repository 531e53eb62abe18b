#!/usr/bin/env bash
# Creates a minimal Debian 12 for the deep tests, in ~/.cache/proctor-debian-12 or PROCTOR_DEBIAN_CACHE, and prints the
# folder. An existing one is reused. It uses the mirror that this machine's apt uses.
set -eu
folder=${PROCTOR_DEBIAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/proctor-debian-12}
if [ ! -d "$folder" ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "Only root can create the clean Debian for the deep tests. The tests that need it are skipped." >&2
    exit 0
  fi
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  partial="$folder.partial-$$"
  trap 'rm -rf "$partial"' EXIT
  mkdir -p "$(dirname "$folder")"
  debootstrap --variant=minbase bookworm "$partial" ${mirror:+"$mirror"} >&2
  # The cached packages are as large as the rest. The list of mirrors belongs to this machine.
  rm -rf "$partial"/var/cache/apt/archives/*.deb "$partial"/var/lib/apt/lists/* "$partial"/etc/apt/sources.list
  mv "$partial" "$folder"
fi
echo "$folder"
