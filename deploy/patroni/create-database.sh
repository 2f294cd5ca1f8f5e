#!/bin/sh
# Patroni runs this script once, on the first primary, with a connection string of the superuser.
set -eu
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --dbname "$1" <<'SQL'
CREATE ROLE everstep LOGIN PASSWORD '${DATABASE_PASSWORD}';
CREATE DATABASE everstep OWNER everstep;
SQL
