-- The role and the database of the service: psql "$ADMIN_URL" --variable password="$USHER_PASSWORD" --file deploy/cluster/database.sql
create role usher login password :'password';
-- Limits that a pooler does not pass on: docs/guides/postgresql.md#what-does-not-get-through
alter role usher set statement_timeout = '15s';
alter role usher set lock_timeout = '5s';
alter role usher set idle_in_transaction_session_timeout = '10s';
create database usher owner usher;
