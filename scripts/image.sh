#!/usr/bin/env bash
# Builds deploy/Dockerfile with podman or docker, starts a server in a container, and asks it for /healthz. It says so if there
# is no engine. It takes minutes, so CI does not run it.
#
#   scripts/image.sh            the base is node:20-bookworm-slim, or BASE
#   scripts/image.sh --debian   the base is made from the caches of the deep tests, so no registry of images is needed
set -eu
cd "$(dirname "$0")/.."
engine=${ENGINE:-$(command -v podman || command -v docker || true)}
if [ -z "$engine" ] || ! "$engine" info >/dev/null 2>&1; then
  echo "SKIPPED: the image of deploy/Dockerfile. No container engine runs here: install podman, or start docker." >&2
  exit 0
fi
case $engine in *podman)
  # Old versions of crun refuse machines with both versions of cgroups.
  if [ "$(id -u)" -eq 0 ] && [ -d /sys/fs/cgroup/unified ] && [ "${PROCTOR_IN_NAMESPACE:-}" = '' ]; then
    export PROCTOR_IN_NAMESPACE=1
    exec unshare --mount --propagation private sh -c 'umount /sys/fs/cgroup/unified; exec bash "$0" "$@"' "$0" "$@"
  fi ;;
esac

work=$(mktemp -d)
name=proctor-image-$$
clean() {
  "$engine" rm --force "$name" >/dev/null 2>&1 || true
  "$engine" volume rm "$name" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
base=${BASE:-node:20-bookworm-slim}
options=()
if [ "${1:-}" = --debian ]; then
  base=localhost/proctor-base
  options=(--pull=never)
  node=$(node scripts/nodes.mjs | sed -n 's/^20[^ ]* //p')
  npm=$(npm root --global)/npm
  root=$work/root
  cp -a "$(bash scripts/clean-debian.sh)" "$root"
  rm -rf "${root:?}"/dev/*
  mkdir -p "$root/usr/local/lib/node_modules" "$root/usr/local/share/ca-certificates"
  cp -L "$node" "$root/usr/local/bin/node"
  cp -aL "$npm" "$root/usr/local/lib/node_modules/npm"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
  change=()
  if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
    cp -L "$NODE_EXTRA_CA_CERTS" "$root/etc/machine-ca.crt"
    change=(--change ENV=NODE_EXTRA_CA_CERTS=/etc/machine-ca.crt)
  fi
  tar -C "$root" -cf "$work/root.tar" .
  "$engine" import "${change[@]}" "$work/root.tar" "$base" >/dev/null
  rm -rf "$root" "$work/root.tar"
fi

mkdir "$work/context"
npm pack --ignore-scripts --pack-destination "$work/context" >/dev/null 2>&1
"$engine" build "${options[@]}" --network host --build-arg "BASE=$base" --file deploy/Dockerfile --tag proctor "$work/context"
run=("$engine" run --network host --volume "$name:/srv/proctor" --read-only --tmpfs /tmp --cap-drop all
  --security-opt no-new-privileges --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --log-driver none)
"${run[@]}" --rm proctor token new --role viewer --name image >/dev/null
port=$((20000 + $$ % 10000))
"${run[@]}" --rm --name "$name" proctor \
  serve --listen "127.0.0.1:$port" --tls-behind-proxy --host proctor.example >"$work/log" 2>&1 &
for _ in $(seq 100); do
  if answer=$(curl --silent --fail "http://127.0.0.1:$port/healthz"); then break; fi
  sleep 0.3
done
if [ -z "${answer:-}" ]; then
  cat "$work/log" >&2
  echo 'The server in the container does not answer.' >&2
  exit 1
fi
"$engine" stop --time 60 "$name" >/dev/null
echo "The server in the container answers $answer, and stops in time."
