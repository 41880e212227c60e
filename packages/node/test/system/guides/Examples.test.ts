/** The servers in `examples` start by the commands in their guides, in a copy of the repository in which nothing is built. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { freePort } from "@startlist/test-support/FreePort"

/** `npm start` in a folder. Its programs end with the scope. */
const start = (folder: string, port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const env = { ...process.env, PORT: String(port) }
      const child = spawn("npm", ["start"], { cwd: folder, detached: true, env, stdio: ["ignore", "pipe", "pipe"] })
      const said = { text: "" }
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => said.text += text)
      }
      return { child, said }
    }),
    ({ child }) => Effect.sync(() => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid))
  )

describe("following the guide of an example", () => {
  for (const name of ["express", "fastify", "hono", "effect-server"]) {
    it.scopedLive(`a reader starts the server in ${name}`, () =>
      Effect.gen(function*() {
        const copy = yield* CleanCopy.make
        const folder = join(copy, "examples", name)
        const guide = readFileSync(join(folder, "README.md"), "utf8")
        const [, build] =
          /Run `(npm run build[^`]*)` in the root of the repository\. Then `npm start` here/.exec(guide) ?? []
        yield* Effect.promise(() =>
          CleanCopy.execute(copy, "sh", ["-c", build ?? expect.fail("the guide has changed")])
        )
        const port = yield* Effect.promise(freePort)
        const { said } = yield* start(folder, port)
        yield* Effect.promise(async () => {
          await expect.poll(() => said.text).toContain(`register an application at http://127.0.0.1:${port}/connect/`)
          const page = `http://127.0.0.1:${port}/connect/developer/applications`
          expect((await fetch(page, { redirect: "manual" })).headers.get("location")).toMatch(/^\/sign-in\?return_to=/)
        })
      }))
  }
})
