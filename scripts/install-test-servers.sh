#!/usr/bin/env bash
# `npm run install-test-servers`: installs Redis, PgBouncer and Chromium where they are missing, on Debian and its
# relatives, as root or by sudo without a password. Their services aren't started: the tests start their own.
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
# services ask this file whether they may start
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
  "${root[@]}" chmod 755 $policy
  trap '"${root[@]}" rm -f $policy' EXIT
fi
install() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@" >/dev/null; }
# one by one where they cannot be had together: a system that lacks one may have the others
install "${missing[@]}" || { "${root[@]}" apt-get update -qq && install "${missing[@]}"; } || {
  failed=0
  for package in "${missing[@]}"; do install "$package" || failed=1; done
  exit $failed
}
