#!/bin/sh
# Makes the secrets that docker-compose.yml names, in deploy/secrets, unless they are there already.
# The files are readable, because the node in the container has another user id; the folder is not.
set -eu
cd "$(dirname "$0")/secrets"
chmod 700 .
for name in network-secret api-key wallet-passphrase; do
  if [ -s "$name" ]; then
    echo "deploy/secrets/$name is there already: kept"
  else
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$name"
    echo >> "$name"
    chmod 444 "$name"
    echo "deploy/secrets/$name made"
  fi
done
