#!/bin/sh
# Makes the certificates with which the members of etcd and the mempool nodes know each other, in deploy/secrets/etcd, unless they
# are there already: an authority of their own, one certificate for each member, and one for the mempool nodes.
#
#   sh deploy/make-etcd-certificates.sh                           for the containers etcd1, etcd2 and etcd3
#   sh deploy/make-etcd-certificates.sh 10.0.0.11 etcd2.lan …     for other names and addresses
#
# Keep ca-key.pem off the machines that run etcd: whoever has it can make a certificate that etcd takes.
set -eu
[ $# -gt 0 ] || set -- etcd1 etcd2 etcd3
mkdir -p "$(dirname "$0")/secrets/etcd"
cd "$(dirname "$0")/secrets/etcd"
chmod 700 .
authority_days=3650
days=825

# certificate NAME SUBJECT-ALTERNATIVE-NAMES EXTENDED-KEY-USAGE
certificate() {
  if [ -s "$1.pem" ]; then
    echo "deploy/secrets/etcd/$1.pem is there already: kept"
    return
  fi
  extensions=$(mktemp)
  {
    echo "basicConstraints = critical, CA:false"
    echo "keyUsage = critical, digitalSignature"
    echo "extendedKeyUsage = $3"
    [ -z "$2" ] || echo "subjectAltName = $2"
  } > "$extensions"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1-key.pem" -subj "/CN=$1" -out "$1.csr" 2> /dev/null
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days "$days" -extfile "$extensions" -out "$1.pem" 2> /dev/null
  rm "$1.csr" "$extensions"
  # Readable, because the programs in the containers have other user ids; the folder is not.
  chmod 444 "$1-key.pem"
  echo "deploy/secrets/etcd/$1.pem made"
}

if [ -s ca.pem ]; then
  echo "deploy/secrets/etcd/ca.pem is there already: kept"
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca-key.pem -subj "/CN=tessera etcd" -days "$authority_days" \
    -addext "keyUsage = critical, keyCertSign, cRLSign" -out ca.pem 2> /dev/null
  chmod 400 ca-key.pem
  echo "deploy/secrets/etcd/ca.pem made"
fi
for name in "$@"; do
  case $name in
    *[!0-9.]*) own="DNS:$name" ;;
    *) own="IP:$name" ;;
  esac
  # A member is also a client of the others, and asks itself for its health.
  certificate "$name" "$own, DNS:localhost, IP:127.0.0.1" "serverAuth, clientAuth"
done
certificate client "" clientAuth
