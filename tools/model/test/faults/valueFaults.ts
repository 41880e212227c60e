/** Faulty stores that change values. */
import type { Delivery } from "@startlist/core/Delivery"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import { Audience, type Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import { Fingerprint } from "@startlist/core/Secrets"
import { Array as Arr, DateTime, Effect, Option } from "effect"
import { applications, type Change, deliveries, type Fault, instead, inStores, registrations, saves } from "./Fault.ts"

const nothing = Option.none()

const shortened = (instant: DateTime.Utc): DateTime.Utc => DateTime.startOf(instant, "second")

const codes = (change: (code: Grant["codes"][number]) => Partial<Grant["codes"][number]>) => (grant: Grant): Grant => ({
  ...grant,
  codes: grant.codes.map((code) => ({ ...code, ...change(code) }))
})

const settled = (name: string, change: (delivery: Delivery) => Partial<Delivery>) =>
  deliveries("field", name, ({ settle }) => ({
    settle: (all) =>
      settle(all.map(({ delivery, token }) => ({ delivery: { ...delivery, ...change(delivery) }, token })))
  }))

const attempts =
  (change: (attempt: Delivery["attempts"][number]) => Partial<Delivery["attempts"][number]>) => (one: Delivery) => ({
    attempts: one.attempts.map((attempt) => ({ ...attempt, ...change(attempt) }))
  })

const claimed = (name: string, change: (one: Claimed, all: ReadonlyArray<Claimed>) => Partial<Claimed>) =>
  deliveries("field", name, ({ claim }) => ({
    claim: (request) => Effect.map(claim(request), (all) => all.map((one) => ({ ...one, ...change(one, all) })))
  }))

const untraced = <A extends Pick<Outgoing, "event">>(told: A): A => ({
  ...told,
  event: { ...told.event, trace: nothing }
})

const unnumbered = <A extends Pick<Outgoing, "event">>(told: A): A => ({
  ...told,
  event: { ...told.event, sequence: 0 }
})

const endOf = ({ expiresAt }: Claimed["signingSecrets"][number]): number =>
  Option.match(expiresAt, { onNone: () => Infinity, onSome: DateTime.toEpochMillis })

const toThree = Arr.map(({ audience, event }: Outgoing): Outgoing => ({
  event,
  audience: audience._tag === "GrantedBy" ? { ...audience, userIds: audience.userIds.slice(0, 3) } : audience
}))

const known = new Map<string, Claimed["signingSecrets"]>()

export const valueFaults: ReadonlyArray<Fault<Change>> = [
  instead("grants", "a grant is granted at a whole second", (one) => ({ ...one, grantedAt: shortened(one.grantedAt) })),
  instead("grants", "a grant has no salt", (one) => ({
    ...one,
    refresh: Option.map(one.refresh, (refresh) => ({ ...refresh, salt: "none" }))
  })),
  instead("grants", "a code is never used", codes(() => ({ redeemed: Option.none() }))),
  instead(
    "grants",
    "a used code forgets its line",
    codes(({ redeemed }) => ({
      redeemed: Option.map(redeemed, (one) => ({ ...one, line: 0 }))
    }))
  ),
  instead("grants", "the present line began with the current token", (one) => ({ ...one, lineStart: one.generation })),
  instead(
    "grants",
    "the state of a code has at most 1000 characters",
    codes(({ state }) => ({
      state: Option.map(state, (text) => text.slice(0, 1000))
    }))
  ),
  instead("grants", "scopes are sorted", (one) => ({ ...one, scope: [...one.scope].sort() })),
  instead(
    "grants",
    "a grant has an epoch of at most 32 767",
    (one) => ({ ...one, epoch: Math.min(one.epoch, 32_767) })
  ),
  instead(
    "grants",
    "fingerprints are lower case",
    codes(({ hash }) => ({ hash: Fingerprint.make(hash.toLowerCase()) }))
  ),
  settled(
    "the detail of an attempt has at most 100 characters",
    attempts(({ detail }) => ({ detail: detail.slice(0, 100) }))
  ),
  settled("an attempt is at a whole second", attempts(({ at }) => ({ at: shortened(at) }))),
  settled("a delivery ends at a whole second", ({ endedAt }) => ({ endedAt: Option.map(endedAt, shortened) })),
  settled("a delivery is due at a whole second", ({ dueAt }) => ({ dueAt: shortened(dueAt) })),
  settled(
    "attempts of what is tried again are lost",
    ({ attempts, state }) => ({ attempts: state === "pending" ? [] : attempts })
  ),
  instead(
    "applications",
    "an application keeps its owner",
    (next, stored) => ({ ...next, ownerId: stored?.ownerId ?? next.ownerId })
  ),
  instead(
    "applications",
    "links that a save leaves out are kept",
    (next, stored) => next.links === undefined && stored?.links !== undefined ? { ...next, links: stored.links } : next
  ),
  instead(
    "registrations",
    "a registration keeps its parties",
    (next, stored) => ({ ...next, parties: stored?.parties ?? next.parties })
  ),
  instead("registrations", "a comment has at most 1000 characters", (next) => ({
    ...next,
    updates: { ...next.updates, comment: next.updates.comment.slice(0, 1000) }
  })),
  instead(
    "subscriptions",
    "a subscription keeps the time of its first save",
    (next) => ({ ...next, updatedAt: next.createdAt })
  ),
  instead("signingSecrets", "a signing secret has no end", (next) => ({
    ...next,
    secrets: next.secrets.map((one) => ({ ...one, expiresAt: nothing }))
  })),
  saves(
    "field",
    "registrations",
    "the trace of an event is lost when a change of a registration is saved",
    (next, { save }, all) => save(next, all.map(untraced))
  ),
  saves(
    "field",
    "registrations",
    "the sequence of an event is lost when a change of a registration is saved",
    (next, { save }, all) => save(next, all.map(unnumbered))
  ),
  deliveries("field", "a delivery again has the sequence of another event", ({ again }) => ({
    again: (delivery, now) => Effect.map(again(delivery, now), Option.map(unnumbered))
  })),
  saves(
    "field",
    "registrations",
    "a save of a registration that was never inserted is ignored",
    (next, { save, stored }, all) =>
      Effect.flatMap(stored, (found) => Option.isNone(found) ? Effect.void : save(next, all))
  ),
  registrations("field", "white space at the end of a comment is lost", ({ find }) => ({
    find: (id) =>
      Effect.map(
        find(id),
        Option.map((one) => ({
          ...one,
          updates: { ...one.updates, comment: one.updates.comment.trimEnd() }
        }))
      )
  })),
  applications("field", "an application that has ended has no signing secrets", ({ find, findSigningSecrets }) => ({
    findSigningSecrets: (id) =>
      Effect.flatMap(
        find(id),
        (found) => Option.exists(found, ({ state }) => state === "ended") ? Effect.succeedNone : findSigningSecrets(id)
      )
  })),
  inStores("field", "only three users of an audience count", ({ deliveries, grants, registrations }) => ({
    deliveries: { enqueue: (outgoing) => deliveries.enqueue(toThree(outgoing)) },
    grants: { save: ({ grant, outgoing }) => grants.save({ grant, outgoing: toThree(outgoing) }) },
    registrations: { save: (next, outgoing) => registrations.save(next, toThree(outgoing)) }
  })),
  claimed("a claim does not read the trace of an event", ({ delivery }) => ({ delivery: untraced(delivery) })),
  claimed(
    "all deliveries of a claim have the secrets of the first",
    (_, [first]) => ({ signingSecrets: first?.signingSecrets ?? [] })
  ),
  claimed("the secrets of a claim are in the order of their ends", ({ signingSecrets }) => ({
    signingSecrets: [...signingSecrets].sort((a, b) => endOf(a) - endOf(b))
  })),
  claimed("the secrets of a claim are remembered by their number", ({ delivery, signingSecrets }) => {
    const key = `${delivery.applicationId} ${signingSecrets.length}`
    if (!known.has(key)) known.set(key, signingSecrets)
    return { signingSecrets: known.get(key) ?? [] }
  }),
  deliveries("field", "a cancelled delivery loses its attempts", ({ list }) => ({
    list: (filter) =>
      Effect.map(list(filter), Arr.map((one) => one.state === "cancelled" ? { ...one, attempts: [] } : one))
  })),
  deliveries("field", "a delivery again is in the log of events", ({ enqueue, find }) => ({
    again: ({ applicationId, event }, now) =>
      Effect.gen(function*() {
        const [id] = yield* enqueue([{
          event: { ...event, time: now },
          audience: Audience.Application({ applicationId })
        }])
        return id === undefined ? nothing : yield* find(id)
      })
  })),
  deliveries("field", "the log of events has only what is pending", ({ log }) => ({
    log: (request) => Effect.map(log(request), Arr.filter(({ delivery }) => delivery.state === "pending"))
  })),
  deliveries("field", "an unknown position of the log is its end", ({ log }) => ({
    log: (request) => Effect.catchTag(log(request), "@startlist/core/UnknownPosition", () => Effect.succeed([]))
  })),
  deliveries("field", "what is pending is not delivered again", ({ again }) => ({
    again: (told, now) => told.state === "pending" ? Effect.succeedNone : again(told, now)
  })),
  deliveries(
    "field",
    "nothing is delivered again while the subscription is paused",
    ({ again }, { subscriptions }) => ({
      again: (told, now) =>
        Effect.flatMap(
          subscriptions.findByApplication(told.applicationId),
          (found) => Option.exists(found, ({ paused }) => paused) ? Effect.succeedNone : again(told, now)
        )
    })
  ),
  deliveries("field", "leases end at whole seconds", ({ claim }) => ({
    claim: (request) =>
      Effect.map(
        claim({ ...request, leaseEnds: shortened(request.leaseEnds) }),
        Arr.map((one) => ({
          ...one,
          leaseEnds: request.leaseEnds
        }))
      )
  }))
]
