#!/bin/sh
# Runs once, when PostgreSQL's volume is new: a database for each who needs one, with a user who has no rights beyond it.
set -eu

for name in clinigate hapi_test hapi_live; do
  psql --username "$POSTGRES_USER" -v ON_ERROR_STOP=1 -v name="$name" -v password="$(cat "/run/secrets/$name-password")" <<'SQL'
CREATE USER :name PASSWORD :'password';
CREATE DATABASE :name OWNER :name;
REVOKE ALL ON DATABASE :name FROM PUBLIC;
SQL
done
