/** The calls of random programs that change the queue of deliveries. */
import { type Delivery, State as DeliveryState } from "@startlist/core/Delivery"
import type { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { same, sorted } from "./expecting.ts"
import { applicationOf, call, type Draw, events, isNew, later, type MakeCall, predicted } from "./storeCall.ts"
import type { StoreModel } from "./storeModel.ts"

export const enqueue: MakeCall = (subjects, by, draw) => {
  const outgoing = events(subjects, by, draw)
  // The identifiers are compared with what a list shows next.
  return predicted(Effect.map(by.deliveryQueue.enqueue(outgoing), (ids) => new Set(ids).size), (model) => {
    const before = model.deliveries.length
    model.enqueue(outgoing)
    return model.deliveries.length - before
  })
}

/** A claim. Without choices, of all that is due. */
export const claim: MakeCall = ({ model, now }, by, draw) => {
  const request = {
    now,
    leaseEnds: later(now, draw.choice(15, 15, 1, 0.5)),
    token: by.name("claim"),
    limit: draw.choice(1000, 1000, 3, 2, 1, 0),
    perSubscription: draw.choice(1000, 1000, 2, 1, 0),
    allowances: new Map<SubscriptionId, number>(
      draw.some([...model.subscriptions.keys()]).map((id) => [id, draw.number(3)])
    )
  }
  const claimed = by.deliveryQueue.claim(request)
  const { run } = call(claimed, (model, answer) => {
    model.learn(answer.map(({ delivery }) => delivery))
    return model.claim(request, model.claimable(request))
  })
  // A claim skips what another call has locked.
  const { run: shared } = call(claimed, (model, answer) => {
    model.learn(answer.map(({ delivery }) => delivery))
    const ids = new Set<number | undefined>(answer.map(({ delivery }) => delivery.id))
    return model.claim(request, model.claimable(request).filter(({ id }) => ids.has(id)))
  })
  const unanswered = (model: StoreModel) => model.claim(request, model.claimable(request))
  return { run, shared, unanswered, claims: "shows" }
}

/** Some claims, usually of those that still hold. */
const someClaims = ({ claims, deliveries }: StoreModel, draw: Draw) => {
  const tokens = new Set(deliveries.map(({ claim, id }) => `${id} ${claim?.token}`))
  const held = claims.filter(({ delivery: { id }, token }) => tokens.has(`${id} ${token}`))
  return draw.choice(held, draw.some(held), draw.some(claims))
}

export const settle: MakeCall = ({ model, now }, by, draw) => {
  const settlements = someClaims(model, draw).map(({ delivery, token }, place) => {
    const rejected = {
      durationMs: draw.number(9),
      status: Option.some(200 + draw.number(400)),
      detail: by.name("detail")
    }
    const attempt = draw.number(2) === 1
      ? draw.any(Arbitraries.attempt)
      : { ...rejected, at: now, outcome: "rejected" } as const
    const state = draw.choice(place % 2 === 0 ? "delivered" : "pending", "pending", ...DeliveryState.literals)
    const endedAt = state === "pending" ? Option.none() : Option.some(later(now, draw.number(3)))
    return {
      delivery: {
        ...delivery,
        attempts: [...delivery.attempts, attempt].slice(draw.choice(0, 0, 0, 1)),
        state,
        dueAt: later(now, draw.choice(0, 5, 60, 0.5)),
        endedAt
      },
      token: draw.choice(token, token, token, token, token, "of another worker", token.toUpperCase())
    }
  })
  const lost = settlements.map((one) => ({ ...one, token: "of another worker" }))
  const twice = draw.choice([...settlements, ...settlements], [...lost, ...settlements, ...lost])
  const batch = draw.choice(settlements, settlements, twice)
  return predicted(Effect.map(by.deliveryQueue.settle(batch), sorted), (model) => sorted(model.settle(batch)), {
    isOnce: true
  })
}

export const release: MakeCall = ({ model, now }, by, draw) => {
  const dueAt = later(now, draw.choice(0, -1, -30, 5, 0.5))
  const some = someClaims(model, draw)
  const claims = draw.choice(some, some, some, [...some, ...some])
  return predicted(
    Effect.map(by.deliveryQueue.release(claims, dueAt), sorted),
    (model) => sorted(model.release(claims, dueAt)),
    { isOnce: true }
  )
}

export const cancel: MakeCall = (subjects, by, draw) => {
  const id = applicationOf(subjects, draw)?.id
  if (id === undefined) return undefined
  const [now, limit] = [subjects.now, draw.choice(1000, 2, 1, 0)]
  const cancelled = by.deliveryQueue.cancel(id, now, limit)
  // Of those that another call ends at the same time, none comes instead.
  const { run: shared } = call(cancelled, (model, answer) => model.cancel(id, now, Math.min(answer, limit)))
  return predicted(cancelled, (model) => model.cancel(id, now, limit), { shared })
}

export const again: MakeCall = ({ model, now }, by, draw) => {
  const one = draw.of(model.deliveries)
  const id = draw.choice(one?.id, one?.id, draw.of(model.purged))
  if (one === undefined || id === undefined) return undefined
  const given = { ...one.delivery, id, event: draw.choice(one.delivery.event, by.event(9, now)) }
  const run = by.deliveryQueue.again(given, now)
  const act = (model: StoreModel, answer?: Delivery) => {
    const expected = model.again(id, now)
    if (expected === undefined) return Option.none()
    if (answer !== undefined) isNew(answer.id, model.deliveries.flatMap(({ id }) => id ?? []))
    model.add(expected, false, answer?.id)
    return Option.some({ ...expected, id: answer?.id })
  }
  return call(run, (model, answer) => act(model, Option.getOrUndefined(answer)), { unanswered: act })
}

export const purge: MakeCall = ({ model, now }, by, draw) => {
  const before = later(now, draw.choice(0, -5, -20))
  const limit = draw.choice(1000, 2, 1)
  const ids = model.purgeable(before)
  const left = Effect.map(Effect.forEach(ids, by.deliveries.find), (found) => found.map(Option.isSome))
  const act = (model: StoreModel, left: ReadonlyArray<boolean>) => {
    const present = model.purgeable(before)
    const gone = present.filter((id) => left[ids.indexOf(id)] !== true)
    const count = Math.min(limit, present.length)
    same(gone.length, count, "number of deliveries that are gone")
    model.purge(gone)
    return { count, left: ids.map((id) => model.deliveries.some((one) => one.id === id)) }
  }
  const run = Effect.flatMap(
    by.deliveries.purge(before, limit),
    (count) => Effect.map(left, (left) => ({ count, left }))
  )
  return call(run, (model, { left }) => act(model, left), {
    isAlone: true,
    recovered: Effect.map(left, (left) => (model) => void act(model, left))
  })
}
