/** `startlist backup` of a running service, and a service that starts on the copy. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { athleteStatus, obtainTokens, redirectUri, refresh } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { runStartlist } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

it.scopedLive(
  "a backup under load is complete, blocks no request, and starts like any data folder",
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const DATA_DIR = join(folder, "data")
      const unfinished = join(DATA_DIR, "backups", ".new-left-by-a-kill")
      mkdirSync(unfinished, { recursive: true, mode: 0o700 })
      const service = yield* makeNode({ DATA_DIR })
      const environment = { DATA_DIR, PORT: new URL(service.url).port }
      const backup = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => runStartlist(["backup", ...args], environment))

      const { application, athlete, tokens } = yield* Effect.promise(async () => {
        const athlete = await createUser(service, "athlete")
        const application = await createApplication(service, await createUser(service, "platform"), [redirectUri])
        return { application, athlete, tokens: await obtainTokens(service, application, athlete) }
      })
      const other = yield* Effect.promise(() => createUser(service, "athlete"))
      const statuses: Array<number> = []
      let isOver = false
      const load = Effect.promise(async () => {
        let { refresh_token } = await obtainTokens(service, application, other)
        while (!isOver) {
          const answer = await refresh(service, application, refresh_token)
          statuses.push(answer.status)
          refresh_token = (await answer.json()).refresh_token
        }
      })
      const to = join(folder, "backup")
      const [, made] = yield* Effect.all([
        load,
        Effect.promise(() => eventually(async () => statuses.length, (count) => count > 20)).pipe(
          Effect.zipRight(backup("--to", to, "--json")),
          Effect.tap(() => Effect.sync(() => (isOver = true)))
        )
      ], { concurrency: "unbounded" })
      expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(JSON.stringify(to)) })
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(readdirSync(join(DATA_DIR, "backups"))).toEqual([])
      expect(existsSync(unfinished)).toBe(false)
      expect(yield* backup("--to", to)).toMatchObject({ code: 1, stderr: expect.stringContaining("exists already") })
      expect(yield* backup()).toMatchObject({ code: 0, stdout: expect.stringContaining(join(DATA_DIR, "backups")) })

      const checked = yield* Effect.promise(() => runStartlist(["doctor"], { DATA_DIR: to, PORT: "1" }))
      expect(checked.stdout).toContain(to)
      const restored = yield* makeNode({ DATA_DIR: to })
      yield* Effect.promise(async () => {
        expect(restored.operatorToken).toBe(service.operatorToken)
        expect(await athleteStatus(restored, tokens.access_token)).toBe(200)
        expect((await refresh(restored, application, tokens.refresh_token)).status).toBe(200)
        await obtainTokens(restored, application, athlete)
      })
    })
)
