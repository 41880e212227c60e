/** The service's own tables, beside those of the stores: passwords, sessions, audit. */
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Embedded from "@startlist/postgres/Embedded"
import { defaultPrefix, type MigrationSet, startlist } from "@startlist/postgres/Migrations"
import { auditFloor } from "../settings/Settings.ts"
import { partyOf } from "./AuditLog.ts"

/** `0001`: all tables. Instants are whole milliseconds since 1970; passwords and sessions are stored as hashes only. */
const initial = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE ${p}passwords (
    user_id bigint PRIMARY KEY,
    hash text NOT NULL,
    disabled boolean NOT NULL DEFAULT false
  )`,
  `CREATE TABLE ${p}sessions (
    hash text COLLATE "C" PRIMARY KEY,
    user_id bigint NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
  )`,
  `CREATE INDEX ${p}sessions_user ON ${p}sessions (user_id)`,
  `CREATE INDEX ${p}sessions_started ON ${p}sessions (started_at)`,
  `CREATE INDEX ${p}sessions_seen ON ${p}sessions (seen_at)`,
  `CREATE TABLE ${p}audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    action text NOT NULL,
    actor json NOT NULL,
    subject json NOT NULL,
    address text NOT NULL,
    detail text NOT NULL
  )`,
  `CREATE INDEX ${p}audit_at ON ${p}audit (at)`,
  `CREATE INDEX ${p}audit_actor ON ${p}audit (${partyOf("actor")}, id)`,
  `CREATE INDEX ${p}audit_subject ON ${p}audit (${partyOf("subject")}, id)`
]

/**
 * `0002`: the audit has the outcome of each action and is append-only. Triggers allow only to clear the network address
 * (for an erasure) and to remove entries that are `auditFloor` older than the newest one.
 */
const appendOnly = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}audit ADD COLUMN outcome text NOT NULL DEFAULT 'success'`,
  `UPDATE ${p}audit SET outcome = 'refused'
    WHERE action IN ('login_failed', 'client_authentication_failed', 'consent_refused', 'replay_refused')`,
  `CREATE FUNCTION ${p}audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        IF OLD.at < (SELECT max(at) FROM ${p}audit) - ${Duration.toMillis(auditFloor)} THEN
          RETURN OLD;
        END IF;
      END IF;
      IF TG_OP = 'UPDATE' THEN
        IF (NEW.id, NEW.at, NEW.action, NEW.outcome, NEW.detail, NEW.actor::jsonb, NEW.subject::jsonb)
            = (OLD.id, OLD.at, OLD.action, OLD.outcome, OLD.detail, OLD.actor::jsonb, OLD.subject::jsonb)
          AND NEW.address = '' AND OLD.address <> ''
        THEN
          RETURN NEW;
        END IF;
      END IF;
      RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
    END
  $$`,
  `CREATE TRIGGER ${p}audit_keeps_lines BEFORE UPDATE OR DELETE ON ${p}audit
    FOR EACH ROW EXECUTE FUNCTION ${p}audit_is_kept()`,
  `CREATE TRIGGER ${p}audit_keeps_all BEFORE TRUNCATE ON ${p}audit
    FOR EACH STATEMENT EXECUTE FUNCTION ${p}audit_is_kept()`
]

/** `0003`: sessions change often, so vacuum them earlier. The migration blocks only other vacuums. */
const autovacuum = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}sessions SET (autovacuum_vacuum_scale_factor = 0.02)`
]

/** `0004`: limits that hold for the installation. A counter that is lost in a crash harms nobody. */
const limits = (p: string): ReadonlyArray<string> => [
  `CREATE UNLOGGED TABLE ${p}limits (
    name text NOT NULL,
    value text NOT NULL,
    count integer NOT NULL,
    ends_at bigint NOT NULL,
    PRIMARY KEY (name, value)
  )`,
  `CREATE INDEX ${p}limits_end ON ${p}limits (ends_at)`
]

/** `0005`: from where a session was started. It leaves with the session. */
const origins = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}sessions ADD COLUMN device text NOT NULL DEFAULT '', ADD COLUMN network text NOT NULL DEFAULT ''`
]

/** Shared by entries about people. An erasure has it alone while it clears their addresses. */
export const auditLock = (p: string): string => `hashtextextended('${p}audit', 0)`

/**
 * `0006`: an entry about somebody who was erased has no address, even if it comes late. The trigger waits for an erasure in
 * progress; its second statement sees it.
 */
const lateEntries = (p: string): ReadonlyArray<string> => {
  const userOf = (party: string) => `CASE ${party}->>'type' WHEN 'user' THEN (${party}->>'id')::bigint END`
  return [
    `CREATE FUNCTION ${p}audit_forgets() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(${auditLock(p)});
      IF EXISTS (
        SELECT FROM ${p}people
          WHERE user_id IN (${userOf("NEW.actor")}, ${userOf("NEW.subject")}) AND erased_at IS NOT NULL
      ) THEN
        NEW.address := '';
      END IF;
      RETURN NEW;
    END
  $$`,
    `CREATE TRIGGER ${p}audit_forgets BEFORE INSERT ON ${p}audit FOR EACH ROW
    WHEN (NEW.address <> '' AND NEW.actor->>'type' <> 'operator'
      AND 'user' IN (NEW.actor->>'type', NEW.subject->>'type'))
    EXECUTE FUNCTION ${p}audit_forgets()`
  ]
}

const statements = (texts: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true }))

/** Migrations of these tables. `prefix` is the prefix of every table name. */
export const migrations = (prefix: string = defaultPrefix): MigrationSet => ({
  table: `${prefix}service_migrations`,
  migrations: {
    "0001_initial": { run: statements(initial(prefix)) },
    "0002_audit_append_only": { run: statements(appendOnly(prefix)), changes: `${prefix}audit` },
    "0003_autovacuum": { run: statements(autovacuum(prefix)) },
    "0004_limits": { run: statements(limits(prefix)) },
    "0005_session_origins": { run: statements(origins(prefix)), changes: `${prefix}sessions` },
    "0006_late_entries": { run: statements(lateEntries(prefix)), changes: `${prefix}audit` }
  }
})

/** Migrations of the stores' tables and of the service's own tables. */
export const all = [startlist(), migrations()] as const

/** The service's own tables in the embedded database, and the image in the package's `dist`. */
export const embedded = (): Required<Pick<Embedded.Options, "image" | "migrations">> => ({
  migrations: [migrations()],
  image: {
    folder: join(dirname(createRequire(import.meta.url).resolve("@startlist/node/package.json")), "dist"),
    fingerprint: [initial, appendOnly, autovacuum, limits, origins, lateEntries].flatMap((step) => step("")).join(";")
  }
})
