#!/bin/sh
# Makes the images that the Dockerfile and docker-compose.yml name where no registry can be reached: a minimal Debian, the same
# with this machine's Node.js and npm, and with Debian's etcd, HAProxy and Prometheus. Needs root, debootstrap and an engine.
# Where a registry can be reached, nobody needs this. `scripts/make-base-images.sh base` leaves the last three out.
# If NODE_EXTRA_CA_CERTS is set here, that file goes into the image that builds (not into the one that runs).
set -eu
cd "$(dirname "$0")/.."
node_image=$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)
runtime_image=$(sed -n 's/^ARG RUNTIME_IMAGE=//p' Dockerfile)
root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" > /dev/null
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/* "$root"/usr/share/man/* \
  "$root"/usr/share/locale/* "$root"/usr/share/info/*
tar -C "$root" -c . | docker import - "$runtime_image"
cp "$(readlink -f "$(command -v node)")" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -RL "$(npm root --global)/npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp "$NODE_EXTRA_CA_CERTS" "$root/usr/local/share/ca-certificates/build.crt"
  tar -C "$root" -c . | docker import --change 'ENV NODE_EXTRA_CA_CERTS=/usr/local/share/ca-certificates/build.crt' \
    --change 'ENV NPM_CONFIG_CAFILE=/usr/local/share/ca-certificates/build.crt' - "$node_image"
else
  tar -C "$root" -c . | docker import - "$node_image"
fi
[ "${1:-}" = base ] && exit

# stand_in VARIABLE 'PACKAGES' [INSTRUCTION ...]: the image that docker-compose.yml names by default for VARIABLE
stand_in() {
  image=$(sed -n "s/.*\${$1:-\([^}]*\)}.*/\1/p" docker-compose.yml | head -n 1)
  packages=$2
  shift 2
  {
    echo "FROM $runtime_image"
    echo "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages && rm -rf /var/lib/apt/lists/*"
    for instruction in "$@"; do echo "$instruction"; done
  } | docker build --network host --quiet --tag "$image" -
  echo "$image"
}
stand_in ETCD_IMAGE 'etcd-server etcd-client'
stand_in HAPROXY_IMAGE haproxy 'USER haproxy'
stand_in PROMETHEUS_IMAGE prometheus 'RUN install -d -o nobody -g nogroup /prometheus' 'USER nobody' 'ENTRYPOINT ["/usr/bin/prometheus"]'
