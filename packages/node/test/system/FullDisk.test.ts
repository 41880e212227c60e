/** The disk of the database is full: readiness and `startlist doctor` report it, and the service continues when it has space. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeNode } from "@startlist/test-support/Nodes"
import { createUser } from "@startlist/test-support/Operator"
import * as PostgresServer from "@startlist/test-support/PostgresServer"
import { succeeds } from "@startlist/test-support/RunProgram"
import { runStartlist } from "@startlist/test-support/ServiceProcess"

const folder = mkdtempSync(join(tmpdir(), "startlist-disk-"))

const mount = () => succeeds("mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", folder)

const unmount = () => succeeds("umount", folder)

const canMount = mount() && unmount()

/** A small disk. Without one, the folder is of no use. */
const disk = Effect.acquireRelease(
  Effect.sync(mount),
  () =>
    Effect.sync(() => {
      unmount()
      rmdirSync(folder)
    })
)

/** Uses all space of the disk. */
const fill = () => {
  const file = openSync(join(folder, "fill"), "w")
  try {
    for (const size of [1 << 20, 4096]) {
      const bytes = Buffer.alloc(size)
      try {
        while (writeSync(file, bytes) > 0);
      } catch { /* less space than this */ }
    }
  } finally {
    closeSync(file)
  }
}

if (!canMount) rmdirSync(folder)

describe.skipIf(!canMount)("a full disk (skipped where this user may not mount a small one)", () => {
  it.scopedLive("readiness and doctor report it, and both recover when there is space again", () =>
    Effect.gen(function*() {
      yield* disk
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => PostgresServer.make({ folder, settings: { fsync: "off" } })),
        ({ stop }) => Effect.promise(stop)
      )
      const environment = installation(server.urlOf("postgres"))
      const service = yield* makeNode(environment)
      const isReady = () => fetch(`${service.url}/readyz`).then(({ status }) => status === 200)
      const doctor = () => runStartlist(["doctor"], { ...environment, PORT: new URL(service.url).port })
      yield* Effect.promise(async () => {
        expect(await isReady()).toBe(true)
        fill()
        await eventually(isReady, (ready) => !ready)
        const { code, stdout } = await doctor()
        expect([code, stdout]).toEqual([
          1,
          expect.stringMatching(
            /FAIL {2}writes: .*No space left on device\n {6}free space on the disk of the database\n/
          )
        ])
        rmSync(join(folder, "fill"))
        await eventually(isReady, (ready) => ready)
        await createUser(service, "athlete")
        expect([(await doctor()).code, service.child.exitCode]).toEqual([0, null])
      })
    }))
})
