/** The guide to move: its recipes run as printed on the tables of the former servers, and its commands import the result. */
import { expect, layer } from "@effect/vitest"
import { athleteStatus, refresh } from "@startlist/test-support/Consent"
import { installation, makeNode } from "@startlist/test-support/Nodes"
import { runStartlist } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Redacted } from "effect"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Guide from "./support/Guide.ts"

const steps = Guide.read("docs/moving.md")
const [hashing = "", ...recipes] = steps.flatMap(({ kind, text }) => kind === "code" ? [text] : [])
const [command = ""] = steps.flatMap(({ kind, text }) => kind === "run" ? [text] : [])

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** A former server: its tables with an application and two connected users, of whom the second one revokes the access. */
interface Former {
  readonly client_id: number
  readonly client_secret: string
  readonly tables: string
  readonly revoke?: string
  /** Records that no recipe makes. */
  readonly records?: ReadonlyArray<object>
}

const day = "2026-01-01T00:00:00Z"
const redirect = "https://app.example.test/callback"

const doorkeeper: Former = {
  client_id: 1,
  client_secret: "a secret in clear text",
  tables: `
    CREATE TABLE oauth_applications (id bigint, name text, uid text, secret text, owner_id bigint, redirect_uri text,
      scopes text, confidential boolean, created_at timestamp, updated_at timestamp);
    CREATE TABLE oauth_access_tokens (id bigint, resource_owner_id bigint, application_id bigint, token text,
      refresh_token text, expires_in integer, scopes text, created_at timestamp, revoked_at timestamp,
      previous_refresh_token text);
    INSERT INTO oauth_applications VALUES (1, 'Race Day', 'uid', 'a secret in clear text', 10, '${redirect}', 'read', true,
      '2026-01-01', '2026-01-01');
    INSERT INTO oauth_access_tokens VALUES
      (1, 11, 1, 'access_1_old', 'refresh_1_old', 7200, 'profile:read read', now() at time zone 'utc', now(), ''),
      (2, 11, 1, 'access_1', 'refresh_1', 7200, 'profile:read read', now() at time zone 'utc', NULL, ''),
      (3, 12, 1, 'access_1_revoked', 'refresh_1_revoked', 7200, 'profile:read', now() at time zone 'utc', NULL, '');`,
  revoke: "UPDATE oauth_access_tokens SET revoked_at = now() WHERE resource_owner_id = 12"
}

const django: Former = {
  client_id: 2,
  client_secret: "correct horse battery staple é",
  tables: `
    CREATE TABLE oauth2_provider_application (id bigint, client_id text, user_id bigint, redirect_uris text,
      client_type text, authorization_grant_type text, client_secret text, name text, created timestamptz);
    CREATE TABLE oauth2_provider_accesstoken (id bigint, token text, expires timestamptz, scope text,
      application_id bigint, user_id bigint, created timestamptz);
    CREATE TABLE oauth2_provider_refreshtoken (id bigint, token text, access_token_id bigint, application_id bigint,
      user_id bigint, created timestamptz, revoked timestamptz);
    INSERT INTO oauth2_provider_application VALUES (2, 'text', 10, '${redirect} https://b.example.test/', 'confidential',
      'authorization-code', 'pbkdf2_sha256$1000$seasalt$uPNvHm1x34bcytmbJkdxMve/igvH6JMvy7eVJDJdaUo=', 'Results', now());
    INSERT INTO oauth2_provider_accesstoken VALUES
      (1, 'access_2', now() + interval '1 hour', 'profile:read read', 2, 11, now()),
      (2, 'access_2_revoked', now() + interval '1 hour', 'profile:read', 2, 12, now());
    INSERT INTO oauth2_provider_refreshtoken VALUES
      (1, 'refresh_2_old', NULL, 2, 11, now() - interval '1 day', now()), (2, 'refresh_2', 1, 2, 11, now(), NULL),
      (3, 'refresh_2_revoked', 2, 2, 12, now(), NULL);`,
  // As the toolkit does it.
  revoke: `
    UPDATE oauth2_provider_refreshtoken SET revoked = now(), access_token_id = NULL WHERE user_id = 12;
    DELETE FROM oauth2_provider_accesstoken WHERE user_id = 12`
}

const nodeOauth: Former = {
  client_id: 3,
  client_secret: "another secret",
  tables: `
    CREATE TABLE oauth_tokens (id bigint, access_token text, access_token_expires_on timestamp, client_id bigint,
      refresh_token text, refresh_token_expires_on timestamp, user_id bigint);
    INSERT INTO oauth_tokens VALUES (1, 'access_3', (now() at time zone 'utc') + interval '1 hour', 3, 'refresh_3',
      (now() at time zone 'utc') + interval '14 days', 11);`,
  records: [{
    kind: "application",
    client_id: 3,
    name: "Timing",
    owner_id: 10,
    redirect_uris: [redirect],
    secret_hash: sha256("another secret"),
    created_at: day
  }]
}

const formers = [doorkeeper, django, nodeOauth]

const users = [
  { kind: "user", id: 10, role: "platform", email: "owner@example.test" },
  ...[11, 12].map((id) => ({ kind: "user", id, role: "athlete", email: `athlete${id}@example.test` }))
]

layer(TestDatabase.layerEmpty)("the guide to move", (it) => {
  it.scoped("each recipe finds the tokens of its server, which its clients then use once", () =>
    Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      const DATA_DIR = yield* temporaryFolder
      const environment = { ...installation(Redacted.value(url)), DATA_DIR }
      const node = yield* makeNode(environment)
      yield* Effect.promise(async () => {
        expect(recipes.length).toBe(formers.length)
        /** Imports what the recipes find after these changes of the former servers. */
        const bring = async (changes: (former: Former) => string) => {
          const records: Array<object> = [...users]
          for (const [place, former] of formers.entries()) {
            // One connection, because the function is temporary.
            const client = await admin.connect()
            const results: unknown = await client.query(`${changes(former)}; ${hashing} ${recipes[place]}`)
            for (const { rows } of Array.isArray(results) ? results : []) {
              records.push(...rows.map((row: Record<string, object>) => row["json_build_object"] ?? {}))
            }
            records.push(...former.records ?? [])
            client.release(true)
          }
          writeFileSync(join(DATA_DIR, "former.jsonl"), records.map((record) => JSON.stringify(record)).join("\n"))
          for (const line of command.trim().split("\n")) {
            const args = line.split(" ").slice(1).map((arg) => arg === "former.jsonl" ? join(DATA_DIR, arg) : arg)
            expect(await runStartlist(args, environment)).toMatchObject({ code: 0, stderr: "" })
          }
        }
        const leaving = formers.filter(({ revoke }) => revoke !== undefined)
        const statusOfLeaving = () =>
          Promise.all(leaving.map(({ client_id }) => athleteStatus(node, `access_${client_id}_revoked`)))
        await bring(({ tables }) => tables)
        expect(await statusOfLeaving()).toEqual([200, 200])
        await bring(({ revoke }) => revoke ?? "")
        expect(await statusOfLeaving()).toEqual([401, 401])
        for (const client of formers) {
          const use = async (name: string) => (await refresh(node, client, name)).status
          const { client_id } = client
          expect(await athleteStatus(node, `access_${client_id}`), `access_${client_id}`).toBe(200)
          expect([await use(`refresh_${client_id}_old`), await use(`refresh_${client_id}`)]).toEqual([400, 200])
          expect(await use(`refresh_${client_id}`)).toBe(401)
        }
        for (const client of leaving) {
          expect((await refresh(node, client, `refresh_${client.client_id}_revoked`)).status).toBe(401)
        }
      })
    }))
})
