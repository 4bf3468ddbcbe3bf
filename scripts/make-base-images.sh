#!/bin/sh
# Makes the base images that the Dockerfile names where no registry can be reached: a minimal Debian, and the same with this
# machine's Node.js and npm. Needs root, debootstrap and an engine. Where a registry can be reached, nobody needs this.
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
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp "$NODE_EXTRA_CA_CERTS" "$root/usr/local/share/ca-certificates/build.crt"
  tar -C "$root" -c . | docker import --change 'ENV NODE_EXTRA_CA_CERTS=/usr/local/share/ca-certificates/build.crt' \
    --change 'ENV NPM_CONFIG_CAFILE=/usr/local/share/ca-certificates/build.crt' - "$node_image"
else
  tar -C "$root" -c . | docker import - "$node_image"
fi
