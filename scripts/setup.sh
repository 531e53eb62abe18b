#!/usr/bin/env bash
# Installs the system packages that Proctor needs, as root or with passwordless sudo. `setup.sh deep` adds what the deep
# tests need: a browser, two shells, PostgreSQL, and Node releases and a clean Debian in caches outside the repository.
# `setup.sh start` installs what it can, and never fails: the demo shows what works without the rest.
# Each line of `needs` is "command package" or "folder package".
set -eu
mode=${1:-}
needs='git git
mkfifo coreutils
bwrap bubblewrap
unshare util-linux
openssl openssl
/usr/bin/python3 python3'
[ "$mode" = deep ] && needs="$needs
/usr/bin/chromium chromium
zsh zsh
fish fish
/usr/share/fonts/opentype/inter fonts-inter
debootstrap debootstrap
/usr/lib/postgresql postgresql"

missing=$(while read -r command package; do
  command -v "$command" >/dev/null 2>&1 || [ -d "$command" ] || printf '%s ' "$package"
done <<<"$needs")
missing=${missing% }

if [ -n "$missing" ]; then
  install="apt-get update && apt-get install --yes --no-install-recommends $missing"
  # The tests start PostgreSQL in a folder of their own. Debian must not create and start a server as well.
  conf=/etc/postgresql-common/createcluster.conf
  case " $missing " in *" postgresql "*)
    install="mkdir -p ${conf%/*} && { test -e $conf || echo create_main_cluster = false > $conf; } && $install" ;;
  esac
  has_apt=$(command -v apt-get || true)
  if [ -n "$has_apt" ] && [ "$(id -u)" -eq 0 ]; then
    DEBIAN_FRONTEND=noninteractive bash -c "$install" || [ "$mode" = start ]
  elif [ -n "$has_apt" ] && sudo -n true 2>/dev/null; then
    echo "Proctor needs system packages that are not installed: $missing. Installing them with sudo, which asks for no password here." >&2
    sudo -n sh -c "DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; $install" || [ "$mode" = start ]
  elif [ "$mode" != start ]; then
    echo "Proctor needs system packages that are not installed. Run this once, then try again:" >&2
    echo "  sudo sh -c '$install'" >&2
    exit 1
  fi
fi

if [ "$mode" = deep ]; then
  bash "$(dirname "$0")/clean-debian.sh"
  bash "$(dirname "$0")/caddy.sh"
  node "$(dirname "$0")/nodes.mjs"
fi
