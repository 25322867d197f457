#!/bin/sh
# Makes the secrets that the compose files name, in docker/secrets, each once: what is there stays.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
cd secrets

random () { head -c 32 /dev/urandom | base64 | tr -d '\n=' | tr '+/' '-_'; }
make () { [ -s "$1" ] || printf '%s' "$2" > "$1"; }

make postgres-password "$(random)"
for name in clinigate hapi_test hapi_live redis; do make "$name-password" "$(random)"; done
make control-database-url "postgres://clinigate:$(cat clinigate-password)@postgres:5432/clinigate"
make redis-url "redis://:$(cat redis-password)@redis:6379"
make redis.conf "requirepass $(cat redis-password)"
make cursor "$(head -c 32 /dev/urandom | base64)"
# The folder is its owner's alone; in the containers, users without rights read the files.
chmod 644 ./*
echo 'The secrets are in docker/secrets. Keep a copy of them where you keep such things, and out of every repository.'
