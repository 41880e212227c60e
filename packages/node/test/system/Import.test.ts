/** `startlist import` beside a running node: killed midway, repeated, and used by the clients of the former server. */
import { expect, layer } from "@effect/vitest"
import { athleteStatus, refresh } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser, operate } from "@startlist/test-support/Operator"
import { runStartlist, spawnStartlist } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Redacted } from "effect"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

const users = Array.from({ length: 200 }, (_, place) => 5000 + place)
const client = { client_id: 700, client_secret: "correct horse battery staple é" }
const day = "2026-01-01T00:00:00Z"

/** Records of the former server: grants before their users, and a secret whose hash PHP made. */
const records: ReadonlyArray<object> = [
  ...users.map((user_id) => ({
    kind: "grant",
    client_id: client.client_id,
    user_id,
    scope: "profile:read read",
    granted_at: day,
    refresh_token: { hash: sha256(`refresh_${user_id}`), issued_at: day },
    access_tokens: [{ hash: sha256(`access_${user_id}`), created_at: day, expires_at: "2100-01-01T00:00:00Z" }]
  })),
  {
    kind: "subscription",
    id: 9000,
    client_id: client.client_id,
    callback_url: "https://app.example.test/hook",
    created_at: day
  },
  { kind: "registration", id: 8000, athlete_id: users[0], registration_status: "confirmed" },
  {
    kind: "application",
    client_id: client.client_id,
    name: "Race Day",
    owner_id: 4999,
    redirect_uris: ["https://app.example.test/back"],
    secret_hash: "$2y$05$7zy5fweqbtFBgw1K.EMFM.5xmJY1See7b8sq46v6BE0J8tnZOYanS",
    created_at: day
  },
  ...users.map((id) => ({ kind: "user", id, role: "athlete", email: `user${id}@example.test` })),
  { kind: "user", id: 4999, role: "platform", email: "owner@example.test", password_hash: "pbkdf2_sha256$9$a$AAAA" }
]

const write = (file: string, lines: ReadonlyArray<string>) => writeFileSync(file, lines.join("\n"))

layer(TestDatabase.layerEmpty)("startlist import", (it) => {
  it.scoped(
    "killed midway and repeated: every client goes on without a consent, and no former token works twice",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        const DATA_DIR = yield* temporaryFolder
        const environment = { ...installation(Redacted.value(url)), DATA_DIR }
        const node = yield* makeNode(environment)
        const file = join(DATA_DIR, "former.jsonl")
        const run = (...args: ReadonlyArray<string>) => runStartlist(["import", file, ...args], environment)
        const count = (table: string) =>
          admin.query(`SELECT count(*)::integer AS n FROM startlist_${table}`).then(({ rows }): number => rows[0].n)

        yield* Effect.promise(async () => {
          // The node remembers for a moment that there are no imported tokens.
          expect(await athleteStatus(node, `access_${users[0]}`)).toBe(401)
          const lines = records.map((record) => JSON.stringify(record))
          write(file, [...lines, "nonsense", "{\"kind\":\"user\",\"id\":0}"])
          const dry = await run("--dry-run")
          expect(dry.stdout).toMatch(new RegExp(`^grant +${users.length} +0 +0 +0$`, "m"))
          expect(await count("users")).toBe(0)

          const killed = spawnStartlist(["import", file], environment)
          await eventually(() => count("grants"), (grants) => grants > 20)
          killed.child.kill("SIGKILL")
          await killed.exit
          expect(await count("grants")).toBeLessThan(users.length)

          const refused = await run()
          expect(refused).toMatchObject({
            code: 1,
            stderr: expect.stringMatching(/^line \d+: id: .*\n[^]*2 lines were refused/m)
          })
          expect(refused.stderr).toContain(`line ${lines.length + 1}: it is not a JSON object`)
          expect(await count("grants")).toBe(users.length)
          write(file, lines)
          const again = await run("--json")
          expect(again).toMatchObject({ code: 0, stderr: "" })
          expect(JSON.parse(again.stdout)).toMatchObject({
            user: { added: 0, unchanged: users.length + 1 },
            grant: { added: 0, updated: 0, unchanged: users.length },
            subscription: { added: 0, unchanged: 1 }
          })
          // Users and applications of these numbers are others here: nothing of their namesakes is theirs.
          const [first] = users
          const later = { kind: "grant", client_id: client.client_id, user_id: first, scope: "read", granted_at: day }
          const theirs = { ...later, refresh_token: { hash: sha256("theirs"), issued_at: "2026-02-01T00:00:00Z" } }
          const namesake = { kind: "user", id: first, role: "athlete", email: "namesake@example.test" }
          const other = join(DATA_DIR, "other.jsonl")
          write(other, [namesake, theirs].map((record) => JSON.stringify(record)))
          for (const args of [["--dry-run"], []]) {
            const mistaken = await runStartlist(["import", other, ...args], environment)
            expect(mistaken.stderr).toContain(`line 1: id: ${first} is another user`)
            expect(mistaken.stderr).toContain(`line 2: user_id: ${first} is another user`)
          }
          const { body } = await operate(node, "GET", "/audit?action=import")
          expect(body.entries).toMatchObject([
            { outcome: "refused" },
            {
              actor: { type: "operator" },
              outcome: "success",
              detail: expect.stringContaining(", 1 subscription unchanged")
            },
            { outcome: "refused", detail: expect.stringMatching(/^by .+ on .+ grant added.*, 2 lines refused$/) }
          ])

          const statuses: Array<ReadonlyArray<number>> = []
          const left = [...users]
          const work = async () => {
            for (let user = left.pop(); user !== undefined; user = left.pop()) {
              const use = () => refresh(node, client, `refresh_${user}`).then(({ status }) => status)
              const both = await Promise.all([use(), use()])
              statuses.push([...both.sort(), await use(), await athleteStatus(node, `access_${user}`)])
            }
          }
          await Promise.all(Array.from({ length: 16 }, work))
          expect(statuses.filter((found) => `${found}` !== "200,401,401,200")).toEqual([])
          expect(statuses.length).toBe(users.length)
          const person = await createUser(node, "platform")
          expect(person.id).toBeGreaterThan(Math.max(...users))
          expect((await createApplication(node, person)).client_id).toBeGreaterThan(client.client_id)
        })
      })
  )
})
