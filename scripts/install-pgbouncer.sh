#!/usr/bin/env bash
# Installs PgBouncer, through which some tests reach PostgreSQL, where it is missing: on Debian and its relatives, by root or whoever
# may become root without a password. Its service isn't started: the tests start their own.
set -euo pipefail
export PATH="$PATH:/usr/sbin"
if command -v pgbouncer >/dev/null; then exit; fi
command -v apt-get >/dev/null || { echo 'PgBouncer is missing, and this system has no apt-get to install it with' >&2; exit 1; }
root=()
if [ "$(id -u)" -ne 0 ]; then root=(sudo -n); fi
# services ask this file whether they may start
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
  "${root[@]}" chmod 755 $policy
  trap '"${root[@]}" rm -f $policy' EXIT
fi
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends pgbouncer >/dev/null ||
  { "${root[@]}" apt-get update -qq && "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends pgbouncer >/dev/null; }
