/** Records that are saved over a version: how each kind of them is made, saved and found. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import { type Application, ApplicationId } from "@startlist/core/Application"
import type { Outgoing } from "@startlist/core/Event"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { at, ended, type Fixture, following } from "./fixture.ts"
import type { Steps } from "./storeLaw.ts"
import { claimedOne } from "./trials.ts"

type Find = Effect.Effect<unknown, unknown>
type Save = Effect.Effect<unknown, unknown>

/** The states of one record, one after the other. Every field differs from state to state. The first is stored. */
export interface Series {
  readonly states: ReadonlyArray<unknown>
  /** Writes the state at this place over the one before it. */
  readonly write: (place: number) => Save
  /** Every way to find the record. */
  readonly finds: (by: Fixture) => ReadonlyArray<Find>
}

/** A record that is saved over a version. */
export interface VersionedRecord extends Series {
  /** The state at this place, as this version. */
  readonly as: (place: number, version: number) => unknown
  /** Saves it, together with an event about the object `place` if records of this kind have events. */
  readonly save: (by: Fixture, place: number, version: number) => Save
  /** Saves a record that was never stored. */
  readonly saveUnknown: (version: number) => Save
  readonly findUnknown: Find
  /** Objects of the events that are queued. */
  readonly queued: Effect.Effect<ReadonlyArray<number>, unknown>
  readonly hasEvents: boolean
}

export type Kind<S> = (f: Fixture) => Steps<S>

interface Parts<A> {
  readonly states: readonly [A, ...ReadonlyArray<A>]
  readonly save: (by: Fixture, next: A, outgoing: ReadonlyArray<Outgoing>) => Save
  readonly finds: Series["finds"]
  /** A record that was never stored. */
  readonly unknown: A
  readonly findUnknown: Find
  /** The application that gets the events, if there are any. */
  readonly subscriber?: Application
}

const versioned = <A extends { readonly version: number }>(f: Fixture, parts: Parts<A>): VersionedRecord => {
  const { findUnknown, finds, save, states, subscriber, unknown } = parts
  const as = (place: number, version: number): A => ({ ...states[place] ?? states[0], version })
  const outgoing = (place: number) => subscriber === undefined ? [] : f.outgoing(subscriber, f.event(place))
  return {
    states: states.map((_, place) => as(place, place + 1)),
    as,
    save: (by, place, version) => save(by, as(place, version), outgoing(place)),
    write: (place) => save(f, as(place, place + 1), []),
    saveUnknown: (version) => save(f, { ...unknown, version }, outgoing(1)),
    finds,
    findUnknown,
    queued: subscriber === undefined
      ? Effect.succeed([])
      : Effect.map(f.listed(subscriber), (found) => found.map(({ event }) => event.objectId)),
    hasEvents: subscriber !== undefined
  }
}

const first = <A, E>(find: Effect.Effect<ReadonlyArray<A> | Option.Option<A>, E>): Effect.Effect<A | undefined, E> =>
  Effect.map(find, (found) => Option.isOption(found) ? Option.getOrUndefined(found) : found[0])

const grant: Kind<VersionedRecord> = function*(f) {
  const { app } = yield* f.subscribed
  const [owner, stranger] = [yield* f.user(), yield* f.user()]
  const present = yield* f.grant(app, owner)
  const state = (place: number) =>
    following(present, {
      scope: [`scope:${place}`],
      epoch: place + 1,
      generation: place,
      role: place % 2 === 0 ? "athlete" : "organizer",
      grantedAt: at(place),
      refresh: Option.some(f.refresh({ issuedAt: at(place) })),
      access: AccessTokens.fromArray([f.access({ createdAt: at(place) })]),
      codes: [f.code({ redeemed: place % 2 === 0 })]
    })
  return versioned(f, {
    states: [present, state(1), state(2), state(3)],
    save: (by, grant, outgoing) => by.grants.save({ grant, outgoing }),
    finds: (by) => [first(by.findGrant(app.id, owner.id)), first(by.grants.listByUser(owner.id))],
    unknown: f.newGrant(app, stranger),
    findUnknown: first(f.findGrant(app.id, stranger.id)),
    subscriber: app
  })
}

const application: Kind<VersionedRecord> = function*(f) {
  const owner = yield* f.user("platform")
  const present = yield* f.application(owner)
  const state = (place: number) => ({
    ...present,
    name: `name ${place}`,
    redirectUris: [`https://app.example.test/${place}`],
    requirePkce: place % 2 === 1,
    links: place % 2 === 1 ? { website: `https://app.example.test/${place}` } : {},
    secrets: [{ hash: f.hash(), expiresAt: Option.some(at(place)) }]
  })
  const id = ApplicationId.make(maxId)
  return versioned(f, {
    states: [present, state(1), state(2), state(3)],
    save: (by, next) => by.applications.save(next),
    finds: ({ applications }) => [
      first(applications.find(present.id)),
      first(applications.list({ owner: Option.some(owner.id), after: Option.none(), limit: 1 }))
    ],
    unknown: { ...present, id },
    findUnknown: first(f.applications.find(id))
  })
}

const registration: Kind<VersionedRecord> = function*(f) {
  const { app } = yield* f.subscribed
  const present = yield* f.registration(yield* f.user())
  const state = (place: number) => ({
    ...present,
    updates: { ...present.updates, comment: `comment ${place}`, registration_status: `status ${place}` }
  })
  const id = RegistrationId.make(maxId)
  return versioned(f, {
    states: [present, state(1), state(2), state(3)],
    save: (by, next, outgoing) => by.registrations.save(next, outgoing),
    finds: ({ registrations }) => [first(registrations.find(present.id))],
    unknown: { ...present, id },
    findUnknown: first(f.registrations.find(id)),
    subscriber: app
  })
}

const subscription: Kind<VersionedRecord> = function*(f) {
  const { app, subscription: present } = yield* f.subscribed
  const state = (place: number) => ({
    ...present,
    callbackUrl: `https://app.example.test/${place}`,
    updatedAt: at(place)
  })
  return versioned(f, {
    states: [present, state(1), state(2), state(3)],
    save: (by, next) => by.subscriptions.save(next),
    finds: ({ subscriptions }) => [first(subscriptions.findByApplication(app.id))],
    unknown: { ...present, id: SubscriptionId.make(maxId) },
    findUnknown: Effect.succeed(undefined)
  })
}

const signingSecrets: Kind<VersionedRecord> = function*(f) {
  const app = yield* f.application()
  const present = yield* f.signingSecrets(app)
  const state = (place: number) => ({
    ...present,
    secrets: [{ value: Redacted.make(f.name("whsec")), expiresAt: Option.some(at(place)) }]
  })
  const applicationId = ApplicationId.make(maxId)
  return versioned(f, {
    states: [present, state(1), state(2), state(3)],
    save: (by, next) => by.applications.saveSigningSecrets(next),
    finds: ({ applications }) => [first(applications.findSigningSecrets(app.id))],
    unknown: { ...present, applicationId },
    findUnknown: first(f.applications.findSigningSecrets(applicationId))
  })
}

/** Kinds of records, by name. */
export const versionedRecords = { grant, application, registration, signingSecrets, subscription } as const

/** A delivery with two attempts: the first fails, then it is claimed again and exhausted. */
export const delivery: Kind<Series> = function*(f) {
  const { app, ...claimed } = yield* claimedOne(f)
  const attempt = (seconds: number) =>
    ({ at: at(seconds), durationMs: seconds, outcome: "rejected", status: Option.some(500), detail: "" }) as const
  const failed = { ...claimed.delivery, attempts: [attempt(1)], dueAt: at(-970) }
  const states = [
    claimed.delivery,
    failed,
    { ...ended(failed, "exhausted", at(2)), attempts: [attempt(1), attempt(2)] }
  ]
  let { token } = claimed
  return {
    states,
    write: (place) =>
      Effect.gen(function*() {
        if (place === 2) {
          const [again] = yield* f.claim({ now: at(-970), leaseEnds: at(-955) })
          token = again?.token ?? token
        }
        yield* f.deliveryQueue.settle([{ delivery: states[place] ?? claimed.delivery, token }])
      }),
    finds: ({ deliveries }) => [
      first(deliveries.find(claimed.delivery.id)),
      first(deliveries.list({
        applicationId: Option.some(app.id),
        state: Option.none(),
        after: Option.none(),
        limit: 1
      }))
    ]
  }
}
