/** Laws of finds beside saves: a find sees one save or the next, whole, and never an earlier one again. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { law, type LawGroup } from "../Law.ts"
import { holds, same } from "./expecting.ts"
import { at, ended, type Fixture, following, make } from "./fixture.ts"
import { plain } from "./plain.ts"
import { inTheMiddle, rounds, stepsOf, sweep, whileLooking } from "./rounds.ts"
import { claimedOf } from "./trials.ts"

/** What a record is, one state after the other, each with another value in every field; and the ways to see it. */
interface Series<A> {
  readonly states: ReadonlyArray<A>
  /** Writes the state at this place over the one before it. */
  readonly write: (place: number) => Effect.Effect<unknown, unknown>
  readonly looks: ReadonlyArray<Effect.Effect<A | undefined, unknown>>
}

const first = <A, E>(find: Effect.Effect<ReadonlyArray<A> | Option.Option<A>, E>): Effect.Effect<A | undefined, E> =>
  Effect.map(find, (found) => Option.isOption(found) ? Option.getOrUndefined(found) : found[0])

const grants = (f: Fixture) =>
  Effect.gen(function*() {
    const app = yield* f.application()
    const owner = yield* f.user()
    let present = yield* f.grant(app, owner)
    const states = [present]
    for (const place of [1, 2, 3]) {
      present = following(present, {
        scope: [`scope:${place}`],
        epoch: place + 1,
        generation: place,
        role: place % 2 === 0 ? "athlete" : "organizer",
        grantedAt: at(place),
        refresh: Option.some(f.refresh({ issuedAt: at(place) })),
        access: AccessTokens.fromArray([f.access({ createdAt: at(place) })]),
        codes: [f.code({ redeemed: place % 2 === 0 })]
      })
      states.push(present)
    }
    return {
      states,
      write: (place) => f.grants.save({ grant: states[place] ?? present, outgoing: [] }),
      looks: [first(f.grants.find(app.id, owner.id)), first(f.grants.listByUser(owner.id))]
    } satisfies Series<unknown>
  })

const applications = (f: Fixture) =>
  Effect.gen(function*() {
    const owner = yield* f.user("platform")
    const app = yield* f.application(owner)
    const states = [1, 2, 3, 4].map((version) =>
      version === 1 ? app : {
        ...app,
        version,
        name: `name ${version}`,
        redirectUris: [`https://app.example.test/${version}`],
        requirePkce: version % 2 === 0,
        secrets: [{ hash: f.hash(), expiresAt: Option.some(at(version)) }]
      }
    )
    const list = f.applications.list({ owner: Option.some(owner.id), after: Option.none(), limit: 1 })
    return {
      states,
      write: (place) => f.applications.save(states[place] ?? app),
      looks: [first(f.applications.find(app.id)), first(list)]
    } satisfies Series<unknown>
  })

const registrations = (f: Fixture) =>
  Effect.gen(function*() {
    const registration = yield* f.registration(yield* f.user())
    const states = [1, 2, 3, 4].map((version) =>
      version === 1 ? registration : {
        ...registration,
        version,
        updates: { ...registration.updates, comment: `comment ${version}`, registration_status: `status ${version}` }
      }
    )
    return {
      states,
      write: (place) => f.registrations.save(states[place] ?? registration, []),
      looks: [first(f.registrations.find(registration.id))]
    } satisfies Series<unknown>
  })

const subscriptions = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    const states = [1, 2, 3, 4].map((version) =>
      version === 1 ? subscription : {
        ...subscription,
        version,
        callbackUrl: `https://app.example.test/${version}`,
        updatedAt: at(version),
        signingSecrets: [{ value: Redacted.make(f.name("whsec")), expiresAt: Option.some(at(version)) }]
      }
    )
    return {
      states,
      write: (place) => f.subscriptions.save(states[place] ?? subscription),
      looks: [first(f.subscriptions.findByApplication(app.id))]
    } satisfies Series<unknown>
  })

/** Two attempts: the delivery fails, is claimed again, and is delivered. */
const deliveries = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, claimed: [one] } = yield* claimedOf(f, [1])
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    const attempt = (seconds: number) =>
      ({ at: at(seconds), durationMs: seconds, outcome: "rejected", status: Option.some(500), detail: "" }) as const
    const failed = { ...one.delivery, attempts: [attempt(1)], dueAt: at(-970) }
    const states = [one.delivery, failed, { ...ended(failed, "exhausted", at(2)), attempts: [attempt(1), attempt(2)] }]
    let { token } = one
    return {
      states,
      write: (place) =>
        Effect.gen(function*() {
          if (place === 2) {
            const [again] = yield* f.claim({ now: at(-970), leaseEnds: at(-955) })
            token = again?.token ?? token
          }
          yield* f.deliveries.settle([{ delivery: states[place] ?? one.delivery, token }])
        }),
      looks: [
        first(f.deliveries.find(one.delivery.id)),
        first(f.deliveries.list({
          applicationId: Option.some(app.id),
          state: Option.none(),
          after: Option.none(),
          limit: 1
        }))
      ]
    } satisfies Series<unknown>
  })

/** As text, whatever the order of its fields. */
const json = (value: unknown): string =>
  JSON.stringify(plain(value), (_, field: unknown) =>
    Predicate.isRecord(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => a < b ? -1 : 1))
      : field)

/** Looks while all states are written. Each look finds a state that is not before the last one that was found. */
const watch = ({ looks, states, write }: Series<unknown>) =>
  Effect.gen(function*() {
    const texts = states.map(json)
    let written = 0
    const writing = Effect.forEach(states.slice(1), (_, place) =>
      Effect.zipRight(
        write(place + 1),
        Effect.sync(() => {
          written = place + 1
        })
      ), { discard: true })
    const looking = looks.map((look) => {
      let last = 0
      return Effect.gen(function*() {
        const least = Math.max(last, written)
        const found = yield* look
        const place = texts.indexOf(json(found))
        if (place < 0) same(found, states[last + 1] ?? states[last], "what was found is no state that was saved")
        holds(place >= least, `save ${place} was found after save ${least} had returned or had been found`)
        last = Math.max(last, place)
      })
    })
    yield* whileLooking(writing, looking)
  })

/** A look in the middle of which the next state is written finds that state, or the one before. */
const inOneLook = (prepare: (f: Fixture) => Effect.Effect<Series<unknown>, unknown>, f: Fixture) =>
  Effect.gen(function*() {
    const { looks } = yield* prepare(f)
    const steps = yield* Effect.forEach(looks, stepsOf)
    yield* sweep(Math.max(...steps) * steps.length, (place) =>
      Effect.gen(function*() {
        const { looks, states, write } = yield* prepare(f)
        const texts = states.map(json)
        let found: unknown
        const look = Effect.map(looks[place % looks.length] ?? Effect.void, (one) => {
          found = one
        })
        yield* inTheMiddle(look, Math.floor(place / looks.length), write(1))
        if (!texts.slice(0, 2).includes(json(found))) {
          same(found, states[1], "what was found is no state that was saved")
        }
        yield* f.cleanUp
      }))
  })

const seen = (name: string, prepare: (f: Fixture) => Effect.Effect<Series<unknown>, unknown>) =>
  law(
    `who finds ${name} while it is saved sees each save whole, and none before the last one seen`,
    () =>
      Effect.gen(function*() {
        const f = yield* make
        yield* inOneLook(prepare, f)
        yield* rounds(Effect.zipRight(Effect.flatMap(prepare(f), watch), f.cleanUp))
      })
  )

export const readLaws: LawGroup<Stores> = {
  about: "finds beside saves",
  laws: [
    seen("a grant", grants),
    seen("an application", applications),
    seen("a registration", registrations),
    seen("a subscription", subscriptions),
    seen("a delivery", deliveries)
  ]
}
