/**
 * Calls the stores on PostgreSQL, without HTTP. Arguments: the database; `rotation`, `bearer` or `refresh`; how many
 * callers; how many grants there are.
 */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { ApplicationId } from "@startlist/core/Application"
import * as Access from "@startlist/core/Access"
import * as Grant from "@startlist/core/Grant"
import type { Found } from "@startlist/core/Grant"
import { GrantStore } from "@startlist/core/GrantStore"
import * as Policy from "@startlist/core/Policy"
import type { RefreshToken } from "@startlist/core/Token"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import { DateTime, Effect, Layer, Option, Redacted, Runtime } from "effect"
import * as Child from "../Child.ts"
import * as Grants from "../Grants.ts"
import { type Effort, makeStopwatch } from "../Measurement.ts"

const [, , url = "", what = "", callers = "", users = ""] = process.argv
const renewal = { applicationId: ApplicationId.make(Grants.applicationId), scope: Option.none() }

/** The refresh token of each user by its version, where that is not the first. */
const versions = new Map<number, number>()
const versionOf = (user: number): number => versions.get(user) ?? 1

const anyUser = (): number => 1 + Math.floor(Math.random() * Number(users))

interface VersionRow {
  readonly user_id: string
  readonly version: number
}

const make = Effect.gen(function*() {
  const grants = yield* GrantStore
  const sql = yield* SqlClient.SqlClient
  const changed = yield* sql<VersionRow>`SELECT user_id, version FROM startlist_grants WHERE version > 1`
  for (const { user_id, version } of changed) versions.set(Number(user_id), version)

  const findRefresh = (user: number) => Effect.flatten(grants.findByRefresh(Grants.hashOf("r", user, versionOf(user))))

  /** Decides and saves. Answers what a find would find next. */
  const rotate = (found: Found<RefreshToken>) =>
    Effect.gen(function*() {
      const { userId, version } = found.grant
      const now = yield* DateTime.now
      const fresh = {
        access: Grants.hashOf("a", userId, version + 1),
        accessExpiresAt: DateTime.addDuration(now, Policy.documented.accessTokenLifetime),
        refresh: Grants.hashOf("r", userId, version + 1),
        refreshExpiresAt: DateTime.addDuration(now, Policy.documented.refreshTokenIdle)
      }
      const decision = Grant.rotate(found, renewal, fresh, now, Policy.documented)
      if (decision._tag !== "Issued") return yield* Effect.die(decision.error)
      const { change } = decision
      yield* grants.save(change)
      versions.set(userId, version + 1)
      const { refresh } = yield* change.issued
      return { grant: change.grant, credential: refresh }
    })

  /** Saves alone: each caller keeps what it saved. */
  const rotation = (caller: number) =>
    Effect.map(findRefresh(caller * 10 + 1), (first) => {
      let found = first
      return Effect.map(Effect.suspend(() => rotate(found)), (next) => {
        found = next
      })
    })

  /** A whole refresh of any grant that no other caller is at. */
  const busy = new Set<number>()
  const idleUser = (): number => {
    const user = anyUser()
    return busy.has(user) ? idleUser() : user
  }
  const refresh = () =>
    Effect.succeed(Effect.suspend(() => {
      const user = idleUser()
      busy.add(user)
      return Effect.map(Effect.flatMap(findRefresh(user), rotate), () => {
        busy.delete(user)
      })
    }))

  const bearer = () =>
    Effect.succeed(Effect.suspend(() => {
      const user = anyUser()
      return Effect.flatMap(grants.findByAccess(Grants.hashOf("a", user, 1)), (found) =>
        Option.isSome(found) && found.value.grant.userId === user
          ? Effect.flatMap(DateTime.now, (now) =>
            Access.authenticate(found.value, now))
          : Effect.dieMessage("a token was not found"))
    }))

  const operation = new Map<string, (caller: number) => Effect.Effect<Effect.Effect<void, unknown>, unknown>>([
    ["rotation", rotation],
    ["refresh", refresh],
    ["bearer", bearer]
  ]).get(what)
  if (operation === undefined) return yield* Effect.dieMessage(`what is ${what}?`)
  return yield* Effect.forEach(Array.from({ length: Number(callers) }).keys(), operation)
})

const program = Effect.gen(function*() {
  const operations = yield* make
  const run = Runtime.runPromise(yield* Effect.runtime<never>())
  const measure = async (effort: Effort) => {
    const { ended, result } = makeStopwatch(effort)
    await run(Effect.forEach(operations, (operation) => {
      const again: Effect.Effect<void, unknown> = Effect.suspend(() => {
        const began = performance.now()
        return Effect.flatMap(operation, () => ended(began) ? again : Effect.void)
      })
      return again
    }, { concurrency: "unbounded", discard: true }))
    return result()
  }
  Child.answer(measure)
  Child.ready({})
  return yield* Effect.never
})

const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })

Effect.runFork(
  Effect.tapErrorCause(
    Effect.provide(program, Postgres.layerWith({ url: Redacted.make(url) }).pipe(Layer.provide(seal))),
    Effect.logError
  )
)
