/**
 * What must come of what happens, in the words of the interface and far simpler than the core: a pure function from a
 * world to the next.
 *
 * Things that ran at once are right if they are right in some order. So the checker keeps all worlds that agree with
 * what was seen, and a law is broken when none is left.
 */
import type { Happening } from "./Happening.ts"

export interface Grant {
  readonly isAlive: boolean
  /** Counts consents after revocations. */
  readonly life: number
  readonly current: number | null
  readonly previous: number | null
  readonly rotatedAt: number
  /** What the current pair was given for, and its access token. */
  readonly origin: string
  readonly currentAccess: number
}

interface Credential {
  readonly grant: string
  readonly life: number
  readonly expiresAt: number
}

/** Everything is named by its place in the order of its appearance; times are seconds. */
export interface World {
  readonly grants: Readonly<Record<string, Grant>>
  readonly codes: Readonly<Record<number, Credential & { readonly isUsed: boolean }>>
  readonly access: Readonly<Record<number, Credential>>
  readonly refresh: Readonly<Record<number, Credential>>
  /** By application: the identifier. */
  readonly subscriptions: Readonly<Record<number, number>>
  readonly registrations: Readonly<Record<number, { readonly parties: ReadonlyArray<number>; readonly status: string }>>
  /** By subscription, in order: what is delivered, or was. */
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

export const empty: World = {
  grants: {},
  codes: {},
  access: {},
  refresh: {},
  subscriptions: {},
  registrations: {},
  deliveries: {}
}

/** What must come out, and the world after it. */
export interface Prediction {
  readonly result: string
  readonly next: World
}

const codeLifetime = 5 * 60
const accessLifetime = 28_800
const refreshIdle = 90 * 86_400
const replayGrace = 60
const retryWindow = 600
const maxAccessTokens = 20
const maxCodes = 20

export const keyOf = (application: number, user: number): string => `${application}/${user}`

const withGrant = (world: World, key: string, grant: Grant): World => ({
  ...world,
  grants: { ...world.grants, [key]: grant }
})

/** Whether a credential belongs to the present life of its grant. */
const isLive = (world: World, { grant, life }: Credential): boolean => {
  const present = world.grants[grant]
  return present !== undefined && present.isAlive && present.life === life
}

const end = (world: World, key: string): World => {
  const grant = world.grants[key]
  return grant === undefined ? world : withGrant(world, key, { ...grant, isAlive: false })
}

interface Pair {
  readonly access: number
  readonly refresh: number
}

/** A new pair. Access tokens above their number end, the oldest first. */
const issue = (world: World, key: string, at: number, { access, refresh }: Pair, origin: string): World => {
  const grant = world.grants[key]
  if (grant === undefined) return world
  const { life } = grant
  const rotated = { ...grant, current: refresh, previous: grant.current, rotatedAt: at, origin, currentAccess: access }
  const all = { ...world.access, [access]: { grant: key, life, expiresAt: at + accessLifetime } }
  return {
    ...withGrant(world, key, rotated),
    access: newest(all, key, maxAccessTokens, at),
    refresh: { ...world.refresh, [refresh]: { grant: key, life, expiresAt: at + refreshIdle } }
  }
}

/** Without the oldest of a grant that are more than this. */
const newest = <A extends Credential>(
  all: Readonly<Record<number, A>>,
  key: string,
  limit: number,
  at: number
): Readonly<Record<number, A>> => {
  const live = Object.entries(all).filter(([, { expiresAt, grant }]) => grant === key && at < expiresAt)
  const gone = new Set(live.slice(0, Math.max(0, live.length - limit)).map(([place]) => place))
  return Object.fromEntries(Object.entries(all).filter(([place]) => !gone.has(place)))
}

/** Whether the present pair is the answer to an equal request, and may be given once more. */
const repeats = ({ origin, rotatedAt }: Grant, asked: string, key: string, at: number): boolean =>
  key !== "" && origin === asked && at < rotatedAt + retryWindow

/** The same pair as before, or something is wrong (law 1b). */
const repeated = (world: World, { current, currentAccess }: Grant, { access, refresh }: Pair): Prediction =>
  access === currentAccess && refresh === current
    ? { result: "ok", next: world }
    : { result: "ok, with the tokens of the first answer", next: world }

const enqueue = (world: World, subscription: number, event: string): World => ({
  ...world,
  deliveries: { ...world.deliveries, [subscription]: [...(world.deliveries[subscription] ?? []), event] }
})

export const predict = (world: World, happening: Happening): Prediction => {
  const { at } = happening
  const refused = (result: string, next: World = world): Prediction => ({ result, next })
  const ok = (next: World): Prediction => ({ result: "ok", next })
  switch (happening._tag) {
    case "Consented": {
      const key = keyOf(happening.application, happening.user)
      const present = world.grants[key]
      const grant = present?.isAlive
        ? present
        : {
          isAlive: true,
          life: (present?.life ?? 0) + 1,
          current: null,
          previous: null,
          rotatedAt: 0,
          origin: "",
          currentAccess: -1
        }
      const code = { grant: key, life: grant.life, expiresAt: at + codeLifetime, isUsed: false }
      const codes = newest({ ...world.codes, [happening.code]: code }, key, maxCodes, at)
      return ok({ ...withGrant(world, key, grant), codes })
    }
    case "Redeemed": {
      const code = world.codes[happening.code]
      const grant = code && world.grants[code.grant]
      if (code === undefined || grant === undefined) return refused("unknown")
      if (at >= code.expiresAt || !isLive(world, code)) return refused("unknown")
      if (!happening.fits) return refused("mismatch")
      const asked = `code ${happening.code} ${happening.key}`
      if (code.isUsed) {
        return repeats(grant, asked, happening.key, at)
          ? repeated(world, grant, happening)
          : refused("replayed", end(world, code.grant))
      }
      const used = { ...world, codes: { ...world.codes, [happening.code]: { ...code, isUsed: true } } }
      return ok(issue(used, code.grant, at, happening, asked))
    }
    case "Refreshed": {
      const token = world.refresh[happening.token]
      if (token === undefined) return refused("unknown")
      if (!happening.isOwner) return refused("mismatch")
      const grant = world.grants[token.grant]
      if (grant === undefined || !isLive(world, token)) return refused("revoked")
      const asked = `refresh token ${happening.token} ${happening.key}`
      if (grant.current !== happening.token) {
        if (repeats(grant, asked, happening.key, at)) return repeated(world, grant, happening)
        return grant.previous === happening.token && at < grant.rotatedAt + replayGrace
          ? refused("replaced")
          : refused("replayed", end(world, token.grant))
      }
      if (at >= token.expiresAt) return refused("expired")
      return ok(issue(world, token.grant, at, happening, asked))
    }
    case "Revoked": {
      const token = world[happening.by][happening.token]
      const isGood = token !== undefined && isLive(world, token) && (happening.by === "refresh" || at < token.expiresAt)
      return ok(isGood && happening.isOwner ? end(world, token.grant) : world)
    }
    case "RevokedByUser": {
      const key = keyOf(happening.application, happening.user)
      const grant = world.grants[key]
      if (grant === undefined) return refused("GrantNotFound")
      const subscription = world.subscriptions[happening.application]
      if (!grant.isAlive) return ok(world)
      const ended = end(world, key)
      return ok(
        subscription === undefined || happening.event === null
          ? ended
          : enqueue(ended, subscription, happening.event)
      )
    }
    case "Subscribed": {
      if (world.subscriptions[happening.application] !== undefined) return refused("AlreadySubscribed")
      if (!happening.isProven) return refused("ValidationFailed")
      const subscriptions = { ...world.subscriptions, [happening.application]: happening.subscription }
      return ok({ ...world, subscriptions })
    }
    case "Unsubscribed": {
      const { [happening.application]: removed, ...subscriptions } = world.subscriptions
      return removed === undefined ? refused("SubscriptionNotFound") : ok({ ...world, subscriptions })
    }
    case "RegistrationCreated": {
      const registration = { parties: happening.parties, status: "" }
      return ok({ ...world, registrations: { ...world.registrations, [happening.registration]: registration } })
    }
    case "StatusChanged": {
      const registration = world.registrations[happening.registration]
      if (registration === undefined) return refused("RegistrationNotFound")
      if (registration.status === happening.status) return ok(world)
      const changed: World = {
        ...world,
        registrations: {
          ...world.registrations,
          [happening.registration]: { ...registration, status: happening.status }
        }
      }
      return ok(
        Object.entries(world.subscriptions)
          .filter(([application]) =>
            registration.parties.some((user) => world.grants[keyOf(Number(application), user)]?.isAlive)
          )
          .reduce((next, [, subscription]) => enqueue(next, subscription, happening.event), changed)
      )
    }
    case "Redelivered":
      return Object.values(world.subscriptions).includes(happening.subscription)
        ? ok(enqueue(world, happening.subscription, happening.event))
        : refused("SubscriptionNotFound")
    case "Purged":
      return ok({
        ...world,
        deliveries: Object.fromEntries(
          Object.entries(world.deliveries).map(([subscription, events]) => {
            const gone = happening.deliveries[Number(subscription)] ?? []
            return [subscription, events.filter((_, place) => !gone.includes(place))]
          })
        )
      })
  }
}

/** What can be seen of a world without changing it. */
export interface Sight {
  /** Access tokens that are accepted, and refresh tokens that are current. */
  readonly access: ReadonlyArray<number>
  readonly refresh: ReadonlyArray<number>
  /** `application/user` of what users see as authorised. */
  readonly authorized: ReadonlyArray<string>
  readonly subscriptions: Readonly<Record<number, number>>
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

const places = <A>(record: Readonly<Record<number, A>>, isSeen: (value: A, place: number) => boolean) =>
  Object.entries(record).filter(([place, value]) => isSeen(value, Number(place))).map(([place]) => Number(place))

/**
 * Events such as `updated registration 0 status-1`, those about one object together and in their order. Only that order
 * is promised (law 6): two saves at the same time may queue their events in either one.
 */
export const byObject = (events: ReadonlyArray<string>): ReadonlyArray<string> => {
  const objectOf = (event: string) => event.split(" ").slice(1, 3).join(" ")
  return [...events].sort((a, b) => objectOf(a).localeCompare(objectOf(b)))
}

/** What must be seen of a world at `now`. */
export const look = (world: World, now: number): Sight => ({
  access: places(world.access, (token) => isLive(world, token) && now < token.expiresAt),
  refresh: places(
    world.refresh,
    (token, place) => isLive(world, token) && world.grants[token.grant]?.current === place && now < token.expiresAt
  ),
  authorized: Object.keys(world.grants).filter((key) => world.grants[key]?.isAlive).sort(),
  subscriptions: world.subscriptions,
  deliveries: Object.fromEntries(
    Object.entries(world.deliveries).flatMap(([place, events]) => events.length > 0 ? [[place, byObject(events)]] : [])
  )
})

/** The worlds that agree with something that happened. */
export const step = (worlds: ReadonlyArray<World>, happening: Happening): ReadonlyArray<World> =>
  distinct(worlds.flatMap((world) => {
    const { next, result } = predict(world, happening)
    return happening.result === result ? [next] : []
  }))

/** The worlds after things that happened at once: every order is tried. */
export const stepTogether = (
  worlds: ReadonlyArray<World>,
  happenings: ReadonlyArray<Happening>
): ReadonlyArray<World> =>
  happenings.length === 0 ? worlds : distinct(happenings.flatMap((first, index) => {
    const after = step(worlds, first)
    return after.length === 0 ? [] : stepTogether(after, happenings.filter((_, other) => other !== index))
  }))

const distinct = (worlds: ReadonlyArray<World>): ReadonlyArray<World> =>
  worlds.length < 2 ? worlds : [...new Map(worlds.map((world) => [JSON.stringify(world), world])).values()]
