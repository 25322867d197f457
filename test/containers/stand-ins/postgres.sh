#!/bin/sh
# Does what the official image does with what docker/store.yaml gives it: a new directory gets the password of the
# file and whatever is in /docker-entrypoint-initdb.d.
set -eu
POSTGRES_USER=${POSTGRES_USER:-postgres}
export POSTGRES_USER

if [ "$(id -u)" = 0 ]; then
  chown postgres:postgres "$PGDATA" /var/run/postgresql
  chmod 700 "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups sh "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  # Until the databases are there, nobody else reaches it.
  pg_ctl --wait --options "-c listen_addresses=''" start
  for script in /docker-entrypoint-initdb.d/*.sh; do sh "$script"; done
  pg_ctl --wait --mode fast stop
fi
exec "$@" -c listen_addresses='*'
