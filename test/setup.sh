#!/usr/bin/env bash
# Installs the programs that the tests use and the machine lacks: on Debian, as
# root, and nowhere else. Elsewhere it names what is missing and succeeds; the
# tests that need it then skip and say so.
set -euo pipefail

missing=()
need() { # command, Debian packages
  local name=$1
  shift
  command -v "$name" >/dev/null 2>&1 || missing+=("$@")
}
need git git
need git-lfs git-lfs
need unzip unzip
need bzip2 bzip2
need curl curl ca-certificates
need ssh openssh-client
need openssl openssl
need npm nodejs npm
need gcc gcc libc6-dev
need nginx nginx-light
need caddy caddy
need systemd-analyze systemd
need chromium chromium
need webhook webhook
need dput dput
need twine twine
need dpkg-buildpackage dpkg-dev
need make make
if ! python3 -c "import gitlab" >/dev/null 2>&1 && ! /usr/bin/python3 -c "import gitlab" >/dev/null 2>&1; then
  missing+=(python3-gitlab)
fi
if ! python3 -m pip --version >/dev/null 2>&1 && ! /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
  missing+=(python3-pip)
fi
if ! command -v initdb >/dev/null 2>&1 && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
  missing+=(postgresql)
fi

# A server of S3 for the tests of archives in buckets, from the Go module proxy: compiled once and kept in .tools.
s3=versitygw-v1.8.0
tools="$(cd "$(dirname "$0")/.." && pwd)/.tools"
if [[ ! -x $tools/$s3/versitygw ]] && command -v go >/dev/null 2>&1; then
  echo "setup: building $s3"
  if ! out=$(cd / && GOFLAGS= GOWORK=off CGO_ENABLED=0 GOBIN="$tools/$s3" go install -trimpath -ldflags "-s -w" "github.com/versity/versitygw/cmd/${s3/-/@}" 2>&1); then
    tail -n 5 <<<"$out"
    echo "setup: could not build $s3"
  fi
fi
((${#missing[@]} == 0)) && exit 0

if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: not installed here (needs root on Debian): ${missing[*]}"
  exit 0
fi

echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Debian starts a cluster of its own after the installation; the tests want none.
if [[ " ${missing[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
  mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
log=$(mktemp)
policy=
trap 'rm -f "$log" $policy' EXIT
# The tests start nginx and Caddy themselves: what is installed here is not started.
if [[ ! -e /usr/sbin/policy-rc.d ]]; then
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt() { apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@" >>"$log" 2>&1; }
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
  tail -n 20 "$log"
  echo "setup: could not install ${missing[*]}"
fi
