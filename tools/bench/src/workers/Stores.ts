/**
 * Calls the stores on PostgreSQL, without HTTP. Arguments: the database; `rotation`, `bearer`, `refresh`, `in turn` or
 * `every eight hours`; the number of callers; the number of grants.
 */
import { randomBytes } from "node:crypto"
import { ApplicationId } from "@startlist/core/Application"
import * as Grant from "@startlist/core/Grant"
import * as TokenRequest from "@startlist/core/TokenRequest"
import { GrantStore } from "@startlist/core/Grant"
import * as Policy from "@startlist/core/Policy"
import { Fingerprint } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { UserId } from "@startlist/core/User"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import { DateTime, Effect, Layer, Option, Redacted, Runtime } from "effect"
import * as Child from "../Child.ts"
import * as Grants from "../Grants.ts"
import { type Effort, type Latency, latencyOf, makeStopwatch } from "../Measurement.ts"
import { lifetimes } from "../Protocol.ts"

const [, , url = "", what = "", callers = "", users = ""] = process.argv
const applicationId = ApplicationId.make(Grants.applicationId)

const anyUser = (): number => 1 + Math.floor(Math.random() * Number(users))

/** Hashes of a grant's next version. No tokens, because only the stores are measured. */
const deriving = ({ userId, version }: Grant.Grant): TokenRequest.Deriving => ({
  hash: (text) => unsafeBrand(Fingerprint, text),
  keys: [{
    derive: () => ({
      accessToken: Redacted.make<string>(Grants.hashOf("a", userId, version + 1)),
      refreshToken: Redacted.make<string>(Grants.hashOf("r", userId, version + 1))
    }),
    deriveSecret: (origin) => Redacted.make<string>(origin),
    mac: (text) => text,
    isAuthentic: () => false
  }]
})

/** Durations in milliseconds of finds and saves since the last question. */
const took = { find: new Array<number>(), save: new Array<number>() }

const timed = <A, E, R>(times: Array<number>, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.map(call, (answer) => {
      times.push(performance.now() - began)
      return answer
    })
  })

/** Additional result of the operations in turn. */
export interface Times {
  readonly find: Latency
  readonly save: Latency
}

const make = Effect.gen(function*() {
  const grants = yield* GrantStore

  const find = (user: number) =>
    Effect.map(Effect.flatten(grants.find(applicationId, unsafeBrand(UserId, user))), Grant.asOf)

  /** Decides and saves. Returns the stored grant. */
  const rotate = (grant: Grant.Grant, now = DateTime.unsafeNow()) =>
    Effect.gen(function*() {
      const { epoch, generation, userId, version } = grant
      const presented = {
        applicationId,
        presented: Redacted.make<string>(Grants.hashOf("r", userId, version)),
        salt: Grants.salt,
        idempotencyKey: Option.none(),
        scope: Option.none(),
        name: { applicationId, userId, epoch, generation }
      }
      const decision = TokenRequest.rotate(grant, presented, deriving(grant), now, Policy.documented)
      if (decision._tag !== "Issued") return yield* Effect.dieMessage(`a refresh was ${decision._tag}`)
      yield* grants.save(decision.change)
      return decision.change.grant
    })

  /** Only saves: each caller remembers its saved grant. */
  const rotation = (caller: number) =>
    Effect.map(find(caller * 10 + 1), (first) => {
      let found = first
      return Effect.map(Effect.suspend(() => rotate(found)), (next) => {
        found = next
      })
    })

  /** A complete refresh of any grant that no other caller uses. */
  const busy = new Set<number>()
  const idleUser = (): number => {
    const user = anyUser()
    return busy.has(user) ? idleUser() : user
  }
  const refresh = () =>
    Effect.succeed(Effect.suspend(() => {
      const user = idleUser()
      busy.add(user)
      return Effect.map(Effect.flatMap(find(user), (grant) => rotate(grant)), () => {
        busy.delete(user)
      })
    }))

  const bearer = () =>
    Effect.succeed(Effect.suspend(() => {
      const user = anyUser()
      return Effect.flatMap(find(user), (grant) =>
        Effect.flatMap(DateTime.now, (now) => Grant.accessOf(grant, Grants.hashOf("a", user, 1), now)))
    }))

  /** Refreshes each grant in turn, with a pause in seconds between its refreshes. Times find and save separately. */
  let next = 0
  const inTurn = (pause: number) => () =>
    Effect.succeed(Effect.suspend(() => {
      const [place, round] = [next % Number(users), Math.floor(next / Number(users))]
      next++
      const now = DateTime.unsafeMake(Date.now() + round * pause * 1000)
      return Effect.flatMap(timed(took.find, find(1 + place)), (grant) => timed(took.save, rotate(grant, now)))
    }))

  const operation = new Map<string, (caller: number) => Effect.Effect<Effect.Effect<void, unknown>, unknown>>([
    ["rotation", rotation],
    ["refresh", refresh],
    ["in turn", inTurn(0)],
    ["every eight hours", inTurn(lifetimes.access)],
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
    took.find = []
    took.save = []
    await run(Effect.forEach(operations, (operation) => {
      const again: Effect.Effect<void, unknown> = Effect.suspend(() => {
        const began = performance.now()
        return Effect.flatMap(operation, () => ended(began) ? again : Effect.void)
      })
      return again
    }, { concurrency: "unbounded", discard: true }))
    return { ...result(), find: latencyOf(took.find), save: latencyOf(took.save) }
  }
  Child.answer(measure)
  Child.ready({})
  return yield* Effect.never
})

const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })

Effect.runFork(
  Effect.tapErrorCause(
    Effect.provide(program, Postgres.layer({ url: Redacted.make(url) }).pipe(Layer.provide(seal))),
    Effect.logError
  )
)
