/** Faulty stores that programs or the simulation find, because a rule of the whole system no longer holds. */
import type { Delivery } from "@startlist/core/Delivery"
import { Audience } from "@startlist/core/Event"
import { Array as Arr, DateTime, Effect, Option } from "effect"
import type { Program, Request } from "../../src/Operation.ts"
import { type Change, deliveries, type Fault, instead, inStores, saves } from "./Fault.ts"

const consented: Request = { _tag: "Consent", user: 0, application: 0, pkce: false }
const revoked: Request = { _tag: "RevokeByUser", code: 0 }
const statusChanged: Request = { _tag: "ChangeStatus", registration: 0, status: 0 }

/** The first operations of a program with tokens, and of one with a receiver of events. */
const connected: Program = [consented, { _tag: "Redeem", code: 0, key: "", slip: "none" }]
const subscribed: Program = [{ _tag: "Subscribe", application: 0, callback: "right" }, consented]

export const systemFaults: ReadonlyArray<Fault<Change>> = [
  instead(
    "grants",
    "the first refresh token of a grant stays",
    (next, stored) =>
      next.status === "active" && Option.isSome(stored?.refresh ?? Option.none())
        ? { ...next, refresh: stored?.refresh ?? next.refresh }
        : next,
    { programs: [...connected, { _tag: "Refresh", token: 0, key: "", stolen: false }] }
  ),
  instead(
    "grants",
    "a token outlives the revocation once the user consents again",
    (next, stored) => ({ ...next, access: [...stored?.access ?? [], ...next.access] }),
    { programs: [...connected, revoked, consented], simulation: { laws: [2], seed: 4 } }
  ),
  saves(
    "race",
    "grants",
    "a refresh that races a revocation undoes it",
    (next, { save, stored }, outgoing) =>
      Effect.flatMap(stored, (found) =>
        save(
          { ...next, version: 1 + Option.match(found, { onNone: () => 0, onSome: ({ version }) => version }) },
          outgoing
        )),
    {
      programs: [
        ...connected,
        { _tag: "Parallel", operations: [{ _tag: "Refresh", token: 0, key: "", stolen: false }, revoked] }
      ],
      simulation: { laws: [1], seed: 11 }
    }
  ),
  saves("torn", "grants", "a revocation is saved without its event", (next, { save }) => save(next, []), {
    programs: [...subscribed, revoked]
  }),
  saves("torn", "registrations", "a status change is saved without its events", (next, { save }) => save(next, []), {
    programs: [...subscribed, statusChanged],
    simulation: { laws: [4], seed: 1 }
  }),
  inStores("field", "an application gets events after its access was revoked", ({ grants, registrations }) => {
    const revoked = new Set<Audience>()
    return {
      grants: {
        save: (change) =>
          Effect.tap(grants.save(change), () => {
            const { applicationId, status } = change.grant
            if (status === "revoked") revoked.add(Audience.Application({ applicationId }))
          })
      },
      registrations: {
        save: (next, outgoing) =>
          registrations.save(next, [
            ...outgoing,
            ...outgoing.flatMap(({ event }) => [...revoked].map((audience) => ({ audience, event })))
          ])
      }
    }
  }, { programs: [...subscribed, revoked, statusChanged] }),
  instead("applications", "a suspended application goes on", (next) => ({ ...next, state: "active" }), {
    programs: [...connected, { _tag: "SetState", application: 0, state: "suspended" }],
    simulation: { laws: [14], seed: 1 }
  }),
  instead("applications", "to revoke all grants revokes none", (next) => ({ ...next, epoch: 0 }), {
    programs: [...connected, { _tag: "RevokeAll", application: 0 }]
  }),
  instead(
    "applications",
    "the grants of an application outlive its end",
    (next) => next.state === "ended" ? { ...next, epoch: next.epoch - 1 } : next,
    { programs: [...connected, { _tag: "End", application: 0 }] }
  ),
  instead("subscriptions", "a pause is lost", (next) => ({ ...next, paused: false }), {
    programs: [...subscribed, { _tag: "SetPaused", application: 0, paused: true }, revoked],
    simulation: { laws: [14], seed: 33 }
  }),
  deliveries("torn", "a settlement is lost", ({ settle }) => ({
    settle: (all) => Effect.as(settle(all.slice(1)), all.map(({ delivery }) => delivery.id))
  }), { programs: [...subscribed, revoked] }),
  // Takes an attempt that is recorded late, after its lease has ended and another attempt was made.
  deliveries("race", "a delivery is settled under any claim", ({ claim, settle }) => {
    const tokens = new Map<number, string>()
    return {
      claim: (request) =>
        Effect.tap(claim(request), (all) => all.forEach(({ delivery, token }) => tokens.set(delivery.id, token))),
      settle: (all) => settle(all.map((one) => ({ ...one, token: tokens.get(one.delivery.id) ?? one.token })))
    }
  }, { simulation: { laws: [5], seed: 78, steps: 12 } }),
  inStores("torn", "a removal forgets the claimed deliveries", ({ deliveries, subscriptions }) => {
    const claimed = new Map<number, Delivery>()
    const kept = new Map<number, Delivery>()
    const as = (delivery: Delivery) => kept.get(delivery.id) ?? delivery
    return {
      deliveries: {
        claim: (request) =>
          Effect.tap(
            deliveries.claim(request),
            (all) => all.forEach(({ delivery }) => claimed.set(delivery.id, delivery))
          ),
        settle: (all) => Effect.tap(deliveries.settle(all), (ids) => ids.forEach((id) => claimed.delete(id))),
        find: (id) => Effect.map(deliveries.find(id), Option.map(as)),
        list: (filter) => Effect.map(deliveries.list(filter), Arr.map(as))
      },
      subscriptions: {
        remove: (id, now) =>
          Effect.tap(subscriptions.remove(id, now), () => {
            for (const one of claimed.values()) if (one.subscriptionId === id) kept.set(one.id, one)
          })
      }
    }
  }, { simulation: { laws: [8], seed: 3 } }),
  inStores("torn", "an erasure revokes only one grant", ({ grants }) => {
    const revoked = new Map<number, number>()
    return {
      grants: {
        save: (change) =>
          Effect.suspend(() => {
            const { applicationId, status, userId } = change.grant
            if (status !== "revoked") return grants.save(change)
            if ((revoked.get(userId) ?? applicationId) !== applicationId) return Effect.void
            revoked.set(userId, applicationId)
            return grants.save(change)
          })
      }
    }
  }, { simulation: { laws: [2, 4], seed: 12 } }),
  deliveries("time", "a claim says that its lease ends a day later", ({ claim }) => ({
    claim: (request) =>
      Effect.map(claim(request), Arr.map((one) => ({ ...one, leaseEnds: DateTime.add(one.leaseEnds, { days: 1 }) })))
  }), { storeLaws: true, simulation: { laws: [5], seed: 53 } })
]
