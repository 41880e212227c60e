/** Law 15: every secret lives until the end that was promised when it was replaced. */
import { describe, expect, it } from "@effect/vitest"
import { Applications, ApplicationSecret, type Client } from "@startlist/core"
import { DateTime, Duration, Effect, Either, FastCheck, Option, TestClock } from "effect"
import { layer, makeClient } from "./support/fixture.ts"

/** An operation on the secrets of one application. Nodes have their own clocks, which can be wrong by up to an hour. */
const Operation = FastCheck.oneof(
  FastCheck.record({
    kind: FastCheck.constant("replace" as const),
    seconds: FastCheck.constantFrom(0, 1, 60, 3600, 86_400, 30 * 86_400),
    node: FastCheck.nat(1)
  }),
  FastCheck.record({ kind: FastCheck.constant("end" as const), number: FastCheck.integer({ min: 1, max: 12 }) }),
  FastCheck.record({ kind: FastCheck.constant("wait" as const), seconds: FastCheck.nat(40_000) }),
  FastCheck.record({ kind: FastCheck.constant("step" as const), seconds: FastCheck.integer({ min: -3600, max: 3600 }) })
)

interface Known {
  readonly number: number
  /** The promised end in seconds. */
  readonly end: number
}

/** Why a change of secrets is refused, or "done". */
const outcome = <A>(change: Applications.Applications.Changed<A>) =>
  Effect.match(change, {
    onFailure: (error) =>
      error._tag === "@startlist/core/SecretRefused" ? `${error.reason}: ${error.message}` : error._tag,
    onSuccess: () => "done"
  })

describe("the secrets of an application", () => {
  it(
    "live until their promised ends and no longer, whatever is replaced and ended, by nodes with different clocks",
    () =>
      FastCheck.assert(
        FastCheck.property(FastCheck.array(Operation, { maxLength: 40 }), (operations) => {
          const skews = [0, 0]
          const [seen, promised]: readonly [Array<unknown>, Array<unknown>] = [[], []]
          let time = 1_000_000
          let record: { readonly version: number; readonly secrets: ReadonlyArray<ApplicationSecret.Lifetime> } = {
            version: 1,
            secrets: [ApplicationSecret.first]
          }
          let known: ReadonlyArray<Known> = [{ number: 1, end: Infinity }]
          const clock = (node: number) => DateTime.unsafeMake((time + (skews[node] ?? 0)) * 1000)
          for (const operation of operations) {
            switch (operation.kind) {
              case "wait":
                time += operation.seconds
                break
              case "step":
                skews[1] = operation.seconds
                break
              case "replace": {
                const now = time + (skews[operation.node] ?? 0)
                const overlap = Duration.seconds(operation.seconds)
                const live = known.filter(({ end }) => now < end)
                const next = ApplicationSecret.replace((lifetime) => lifetime, overlap)(record, clock(operation.node))
                if (operation.seconds > 0 && live.length >= 5) {
                  seen.push(Either.isLeft(next))
                  promised.push(true)
                  break
                }
                const number = Math.max(...known.map(({ number }) => number)) + 1
                const others = operation.seconds === 0
                  ? []
                  : known.map((one) => one.end === Infinity ? { ...one, end: now + operation.seconds } : one)
                // The record has room for those that live, and for some that live on a node whose clock is behind.
                const isStored = (one: Known, place: number) => place >= others.length - 10 || now < one.end
                known = [...others.filter(isStored), { number, end: Infinity }]
                record = Either.getOrThrow(next)
                break
              }
              case "end": {
                const live = known.find(({ end, number }) => number === operation.number && time < end)
                const next = ApplicationSecret.end(operation.number)(record, clock(0))
                seen.push(Either.isRight(next))
                promised.push(live !== undefined && live.end !== Infinity)
                if (Either.isLeft(next)) break
                known = known.filter((one) => one !== live)
                record = next.right
              }
            }
            for (const node of [0, 1]) {
              const now = time + (skews[node] ?? 0)
              seen.push(ApplicationSecret.live(record.secrets, clock(node)).map(({ number }) => number).join())
              promised.push(known.filter(({ end }) => now < end).map(({ number }) => number).reverse().join())
            }
          }
          expect(seen).toStrictEqual(promised)
        }),
        { numRuns: 300 }
      )
  )

  it.effect("authenticate for exactly the overlap of each, also after further replacements", () =>
    Effect.gen(function*() {
      const { authenticate, rotateSecret } = yield* Applications.Applications
      const client = yield* makeClient()
      const clients: Array<Client.ClientCredentials> = [client]
      for (const _ of [1, 2, 3]) {
        yield* TestClock.adjust("1 hour")
        clients.push({ id: client.id, secret: (yield* rotateSecret(client.id)).secret })
      }
      const accepted = Effect.map(
        Effect.forEach(clients, (one) => Effect.option(authenticate(one))),
        (found) => found.map(Option.isSome)
      )
      yield* TestClock.adjust(Duration.millis(Duration.toMillis("22 hours") - 1))
      expect(yield* accepted).toStrictEqual([true, true, true, true])
      yield* TestClock.adjust("1 millis")
      expect(yield* accepted).toStrictEqual([false, true, true, true])
      yield* TestClock.adjust("2 hours")
      expect(yield* accepted).toStrictEqual([false, false, false, true])
    }).pipe(Effect.provide(layer)))

  it.effect("are at most five: the sixth replacement names the secret to end, and changes nothing", () =>
    Effect.gen(function*() {
      const { endSecret, find, rotateSecret } = yield* Applications.Applications
      const { id } = yield* makeClient()
      for (const _ of [2, 3, 4, 5]) yield* rotateSecret(id)
      const before = yield* find(id)
      expect(yield* outcome(rotateSecret(id))).toMatch(/^too_many: .* number 1, or wait until 1970-01-02T00:00:00.000Z/)
      expect(yield* find(id)).toStrictEqual(before)
      yield* endSecret(id, 3)
      const { application } = yield* rotateSecret(id)
      expect(application.secrets.map(({ number }) => number)).toStrictEqual([6, 5, 4, 2, 1])
    }).pipe(Effect.provide(layer)))

  it.effect("end with an overlap of zero, all but the new one, also if there are five", () =>
    Effect.gen(function*() {
      const { authenticate, rotateSecret } = yield* Applications.Applications
      const client = yield* makeClient()
      for (const _ of [2, 3, 4, 5]) yield* rotateSecret(client.id)
      const { application, secret } = yield* rotateSecret(client.id, { overlap: Duration.zero })
      expect(application.secrets.map(({ number }) => number)).toStrictEqual([6])
      expect((yield* Effect.flip(authenticate(client)))._tag).toBe("@startlist/core/InvalidClient")
      yield* authenticate({ id: client.id, secret })
    }).pipe(Effect.provide(layer)))

  it.effect("are ended one by one, but never the current one or an unknown one", () =>
    Effect.gen(function*() {
      const { authenticate, endSecret, endSigningSecret, rotateSecret, rotateSigningSecret, signingSecrets } =
        yield* Applications.Applications
      const client = yield* makeClient()
      const refused = (number: number) => outcome(endSecret(client.id, number))
      expect(yield* refused(1)).toMatch(/^current: /)
      yield* rotateSecret(client.id)
      expect(yield* refused(2)).toMatch(/^current: /)
      for (const number of [0, 3, -1, 1.5, Number.NaN]) {
        expect(yield* refused(number), String(number)).toMatch(/^unknown: /)
      }
      yield* endSecret(client.id, 1)
      expect(yield* refused(1)).toMatch(/^unknown: /)
      expect((yield* Effect.flip(authenticate(client)))._tag).toBe("@startlist/core/InvalidClient")
      yield* rotateSigningSecret(client.id)
      yield* endSigningSecret(client.id, 1)
      expect((yield* signingSecrets(client.id)).secrets.map(({ number }) => number)).toStrictEqual([2])
    }).pipe(Effect.provide(layer)))

  it.effect("are all made and ended by requests at the same time, each once", () =>
    Effect.gen(function*() {
      const { endSecret, find, rotateSecret } = yield* Applications.Applications
      const { id } = yield* makeClient()
      yield* rotateSecret(id)
      const rotations = [rotateSecret(id), rotateSecret(id), rotateSecret(id)].map(Effect.asVoid)
      yield* Effect.all([...rotations, Effect.asVoid(endSecret(id, 1))], { concurrency: "unbounded" })
      const { secrets } = yield* find(id)
      expect(secrets.map(({ number }) => number)).toStrictEqual([5, 4, 3, 2])
      const ended = yield* Effect.forEach([2, 2], (number) => Effect.option(endSecret(id, number)), {
        concurrency: "unbounded"
      })
      expect(ended.filter(Option.isSome)).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("are replaced once by two requests that name the same number", () =>
    Effect.gen(function*() {
      const { rotateSecret } = yield* Applications.Applications
      const { id } = yield* makeClient()
      const both = yield* Effect.forEach([1, 2], () => outcome(rotateSecret(id, { number: 2 })), {
        concurrency: "unbounded"
      })
      expect(both.map((one) => one.split(":", 1)[0]).sort()).toStrictEqual(["done", "outdated"])
    }).pipe(Effect.provide(layer)))
})
