#!/usr/bin/env bash
# `npm run install-test-servers`: installs Redis, PgBouncer and Chromium if they are missing, on Debian and its
# derivatives, as root or with passwordless sudo. Doesn't start their services: the tests start their own.
set -euo pipefail
export PATH="$PATH:/usr/sbin"
missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v pgbouncer >/dev/null || missing+=(pgbouncer)
command -v chromium >/dev/null || missing+=(chromium)
if [ ${#missing[@]} -eq 0 ]; then exit; fi
command -v apt-get >/dev/null || { echo "${missing[*]} not installed, and this system has no apt-get to install it with" >&2; exit 1; }
root=()
if [ "$(id -u)" -ne 0 ]; then root=(sudo -n); fi
# package scripts ask this file whether they may start services
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
  "${root[@]}" chmod 755 $policy
  trap '"${root[@]}" rm -f $policy' EXIT
fi
install() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@" >/dev/null; }
# one by one if they cannot be installed together: a system may offer only some of them
install "${missing[@]}" || { "${root[@]}" apt-get update -qq && install "${missing[@]}"; } || {
  failed=0
  for package in "${missing[@]}"; do install "$package" || failed=1; done
  exit $failed
}
