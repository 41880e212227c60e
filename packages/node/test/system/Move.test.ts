/** `startlist move` from the embedded database to PostgreSQL, also if it is interrupted. */
import { expect, layer } from "@effect/vitest"
import { Embedded } from "@startlist/postgres"
import * as ServiceTables from "@startlist/node/data/ServiceTables"
import { Effect, Redacted } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { athleteStatus, obtainTokens, redirectUri, refresh } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { runStartlist, spawnStartlist, startService } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const grants = 100_000

/** Copies the only grant, for users who do not exist. */
const multiplyGrants = (folder: string) =>
  Effect.scoped(
    Effect.flatMap(
      Embedded.connect({ folder, ...ServiceTables.embedded() }),
      (sql) =>
        sql`INSERT INTO startlist_grants (
            application_id, user_id, application_epoch, active, consent, codes, access, refresh, generation, version
          )
          SELECT application_id, 1000 + n, application_epoch, active, consent, codes, access, refresh, generation, version
          FROM startlist_grants, generate_series(1, ${grants}::integer) n`
    )
  )

layer(TestDatabase.layerEmpty)("startlist move", (it) => {
  it.scoped(
    "moves 100,000 grants although it is killed midway; earlier tokens work",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        const DATA_DIR = yield* temporaryFolder
        const args = ["move", "--to", Redacted.value(url)]
        const move = Effect.promise(() => runStartlist(args, { DATA_DIR }))
        const count = Effect.promise(() =>
          admin.query("SELECT count(*)::integer AS n FROM startlist_grants").then(({ rows }) => rows[0].n)
        )

        const { application, tokens } = yield* Effect.promise(async () => {
          const before = await startService({ DATA_DIR })
          expect(await runStartlist(args, { DATA_DIR })).toMatchObject({
            code: 1,
            stderr: expect.stringContaining("is in use by another process")
          })
          const owner = await createUser(before, "platform")
          const athlete = await createUser(before, "athlete")
          const application = await createApplication(before, owner, [redirectUri])
          const tokens = await obtainTokens(before, application, athlete)
          await before.stop()
          return { application, tokens }
        })
        yield* multiplyGrants(DATA_DIR)

        yield* Effect.promise(async () => {
          const killed = spawnStartlist(args, { DATA_DIR })
          await eventually(async () => killed.stdout(), (said) => said.includes("startlist_grants: 40000 of 100001"))
          killed.child.kill("SIGKILL")
          expect(await killed.exit).toMatchObject({ signal: "SIGKILL" })
        })
        expect(yield* count).toBe(0)

        expect(yield* move).toMatchObject({ code: 0, stderr: "" })
        expect(yield* count).toBe(grants + 1)
        expect(yield* move).toMatchObject({ code: 0, stdout: expect.stringContaining("was moved before") })

        const refused = yield* Effect.promise(() => runStartlist(["serve"], { DATA_DIR, PORT: "0" }))
        expect(refused.code).toBe(1)
        expect(refused.stderr).toMatch(
          /DATA_DIR: the data of the folder .* was moved to PostgreSQL .*: set DATABASE_URL/
        )

        const after = yield* makeNode({
          DATA_DIR,
          DATABASE_URL: Redacted.value(url),
          MASTER_KEY_FILE: join(DATA_DIR, "master-key"),
          OPERATOR_TOKEN: readFileSync(join(DATA_DIR, "operator-token"), "utf8").trim()
        })
        yield* Effect.promise(async () => {
          expect(await athleteStatus(after, tokens.access_token)).toBe(200)
          expect((await refresh(after, application, tokens.refresh_token)).status).toBe(200)
          // Identifiers continue after those of the embedded database.
          expect((await createUser(after, "athlete")).id).toBe(3)
        })
      })
  )
})

layer(TestDatabase.layer)("startlist move", (it) => {
  it.scoped(
    "refuses a target with data, and continues only if an earlier move did not arrive",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        const DATA_DIR = yield* temporaryFolder
        const { host, pathname } = new URL(Redacted.value(url))
        const move = Effect.promise(async () => {
          const moving = spawnStartlist(["move"], { DATA_DIR }, undefined, { input: `${Redacted.value(url)}\n` })
          const { code } = await moving.exit
          return { code, said: moving.stderr() }
        })
        const ask = (text: string) => Effect.promise(() => admin.query(text))
        const mark = (transaction: string, to = `PostgreSQL ${host}${pathname}`) =>
          writeFileSync(join(DATA_DIR, "moved.json"), JSON.stringify({ to, transaction }))

        yield* Effect.promise(() => runStartlist(["migrate"], { DATA_DIR }))
        yield* ask(
          "INSERT INTO startlist_users (role, email, email_key, first_name, last_name) VALUES ('athlete', 'a', 'a', '', '')"
        )
        expect(yield* move).toMatchObject({
          code: 1,
          said: expect.stringContaining("the target is not empty: there are rows in startlist_users")
        })
        yield* ask("TRUNCATE startlist_users")

        mark("1", "PostgreSQL other/database")
        expect(yield* move).toMatchObject({
          code: 1,
          said: expect.stringContaining("was moved to PostgreSQL other/database")
        })
        mark("99999999")
        expect(yield* move).toMatchObject({
          code: 1,
          said: expect.stringContaining("cannot tell whether an earlier move")
        })
        // As if the process had been killed between the mark and the commit.
        const { rows } = yield* Effect.promise(async () => {
          const client = await admin.connect()
          await client.query("BEGIN")
          const found = await client.query("SELECT pg_current_xact_id()::text AS id")
          await client.query("ROLLBACK")
          client.release()
          return found
        })
        mark(rows[0].id)
        expect(yield* move).toEqual({ code: 0, said: "" })
      })
  )
})
