/**
 * Delivers events: claims what is due, attempts it, records what came of it; any number of nodes at once.
 *
 * A worker holds no truth. What it has claimed is its own until the lease ends; what it could not record is attempted
 * again by whoever claims it next. So a worker may die between any two lines: a receiver sees a repeat, never a loss.
 */
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import { Answer, type Begin, broken, Callbacks, forking, type Post, reportBug } from "./Callbacks.ts"
import { type Claimed, type Delivery, DeliveryStore, next, setAside, type Settlement } from "./Delivery.ts"
import { body, toSeconds } from "./Event.ts"
import { makeInstants } from "./internal/instants.ts"
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { liveSecrets } from "./Subscription.ts"
import { makeDeadlines } from "./WorkerDeadlines.ts"
import { makeSlots } from "./WorkerSlots.ts"

/** A delivery that was attempted or set aside, and is to be recorded. */
interface Finished extends Settlement {
  readonly claimed: Claimed
}

/** How many attempts one save records at most. */
const settleBatch = 500

/**
 * A claim costs the database as much as some fifty deliveries. So one that took all it asked for, since more is due, is
 * followed by another when this share of the slots is free, or after this pause: slow receivers may hold the rest.
 */
const largeClaim = 1 / 2
const claimPause = Duration.millis(10)

/** How long a worker waits before it asks a store again that did not answer. */
const storePause = Duration.millis(500)

/**
 * Works until interrupted. Then it claims no more, finishes and records what is in flight (a callback timeout at
 * most, while the store answers), and ends.
 */
export const run: Effect.Effect<never, never, DeliveryStore | Callbacks | Secrets> = Effect.gen(function*() {
  const store = yield* DeliveryStore
  const callbacks = yield* Callbacks
  const secrets = yield* Secrets
  const policy = yield* Policy
  const clock = yield* Effect.clock
  const runtime = yield* Effect.runtime<never>()
  const runFork = Runtime.runFork(runtime)
  const fork = forking(runtime)
  const begin: Begin<Post> = callbacks.begin ?? ((post, done) => fork(callbacks.deliver(post), done))
  const slots = makeSlots(policy)
  const deadlines = yield* makeDeadlines(policy.callbackTimeout)
  const wake = yield* Queue.sliding<void>(1)
  const toRecord = yield* Queue.sliding<void>(1)
  const finished: Array<Finished> = []
  const toInstant = makeInstants()
  /** The delivery in flight that was claimed before without an outcome, several times. */
  let doubtful: Claimed | undefined
  /** When a claim or a record last failed or came late, in milliseconds since 1970. */
  let storeFailedAt = Number.NEGATIVE_INFINITY

  const now = (): DateTime.Utc => toInstant(clock.unsafeCurrentTimeMillis())

  const brokenBy = (bug: unknown): Answer => {
    runFork(reportBug(Cause.die(bug)))
    return broken
  }

  /** Begins the request of an attempt. Answers how to give it up. */
  const send = ({ delivery, subscription }: Claimed, at: DateTime.Utc, done: (answer: Answer) => void): () => void => {
    try {
      const post: Post = {
        callbackUrl: subscription.callbackUrl,
        id: delivery.event.id,
        timestamp: toSeconds(at),
        body: body(delivery.event, subscription.id),
        secrets: liveSecrets(subscription, at),
        trace: delivery.event.trace,
        timeout: policy.callbackTimeout
      }
      return begin(post, done)
    } catch (bug) {
      done(brokenBy(bug))
      return () => {}
    }
  }

  /** A worker that was paused until its lease is nearly over leaves the delivery to the next one. */
  const isTooLate = (claimed: Claimed, at: DateTime.Utc) =>
    at.epochMillis + Duration.toMillis(policy.callbackTimeout) >= claimed.leaseEnds.epochMillis

  /**
   * Whether this delivery may be what ends the workers. Trouble with the store is the likelier reason while it is recent:
   * then nobody could record an outcome.
   */
  const isSuspect = ({ claims }: Claimed, at: DateTime.Utc) =>
    claims > policy.deliveryClaims &&
    at.epochMillis - storeFailedAt > policy.deliveryClaims * Duration.toMillis(policy.deliveryLease)

  const finish = (claimed: Claimed, delivery: Delivery, ended: DateTime.Utc): void => {
    if (doubtful === claimed) doubtful = undefined
    slots.finish(claimed.subscription.id, delivery.state === "delivered", ended)
    if (finished.push({ claimed, delivery, token: claimed.token }) === 1) toRecord.unsafeOffer(undefined)
  }

  /** `next` for an answer that an implementation may have got wrong: a bug in it fails this attempt only. */
  const after = (delivery: Delivery, answer: Answer, attempted: Parameters<typeof next>[2]): Delivery => {
    try {
      return next(delivery, answer, attempted, policy)
    } catch (bug) {
      return next(delivery, brokenBy(bug), attempted, policy)
    }
  }

  /**
   * Attempts a delivery, or sets it aside. Answers whether it did: it is no effect, which would cost as much again as the
   * request. Doubtful deliveries are attempted one at a time, so that one that ends the process ends no others with it.
   */
  const attempt = (claimed: Claimed, random: number): boolean => {
    const at = now()
    if (isTooLate(claimed, at)) {
      storeFailedAt = at.epochMillis
      return false
    }
    if (isSuspect(claimed, at)) {
      runFork(Effect.logError(`delivery ${claimed.delivery.id} is set aside: its last claims had no outcome`))
      slots.take(claimed.subscription.id)
      finish(claimed, setAside(claimed.delivery, at), at)
      return true
    }
    if (claimed.claims > policy.deliveryClaims / 2) {
      if (doubtful !== undefined) return false
      doubtful = claimed
    }
    slots.take(claimed.subscription.id)
    const end = (answer: Answer) => {
      const ended = now()
      finish(claimed, after(claimed.delivery, answer, { at, ended, random }), ended)
    }
    const isInTime = deadlines.watch(at, () => {
      end(Answer.TimedOut({ detail: "" }))
      giveUp()
    })
    const giveUp = send(claimed, at, (answer) => {
      if (isInTime()) end(answer)
    })
    return true
  }

  /**
   * Claims for the free slots and starts each attempt at once, so that a claim is the start of an attempt (law 8).
   * Answers whether more may be due.
   */
  const claim = Effect.gen(function*() {
    const at = now()
    const limit = slots.available()
    if (limit <= 0) return false
    const claimed = yield* store.claim({
      now: at,
      leaseEnds: DateTime.addDuration(at, policy.deliveryLease),
      token: Redacted.value(yield* secrets.make("claim")),
      limit,
      perSubscription: policy.deliveryPerSubscription,
      allowances: slots.allowances(at)
    })
    const left: Array<Claimed> = []
    for (const one of claimed) if (!attempt(one, yield* Random.next)) left.push(one)
    // What cannot be released is claimed again after its lease.
    if (left.length > 0) yield* Effect.ignore(store.release(left, DateTime.addDuration(now(), policy.deliveryPoll)))
    return claimed.length === limit
  }).pipe(
    Effect.tapErrorCause(() => Effect.sync(() => storeFailedAt = now().epochMillis)),
    Effect.sandbox,
    Effect.uninterruptible
  )

  /** Claims as soon as the store answers, after a bug too: logs once that it does not, and once that it does again. */
  const claimAtLast = Effect.catchAll(claim, (cause) =>
    Effect.logWarning("deliveries wait for the store", cause).pipe(
      Effect.zipRight(Effect.eventually(Effect.delay(claim, storePause))),
      Effect.zipLeft(Effect.logInfo("deliveries go on: the store answers again"))
    ))

  const claimAgain = Effect.gen(function*() {
    if (yield* claimAtLast) {
      const enough = Math.ceil(policy.deliveryConcurrency * largeClaim)
      yield* Effect.timeoutOption(slots.awaitAvailable(enough), claimPause)
    } else {
      yield* Effect.timeoutOption(Queue.take(wake), policy.deliveryPoll)
    }
  })

  /** Records a batch; one that fails, or meets a bug, is recorded row by row, so that a bad row harms only itself. */
  const record = (batch: ReadonlyArray<Finished>): Effect.Effect<ReadonlyArray<Finished>> =>
    Effect.suspend(() => store.settle(batch)).pipe(
      Effect.as([]),
      Effect.catchAllCause((cause) =>
        batch.length === 1
          ? Effect.as(Effect.logWarning("an attempt could not be recorded", cause), batch)
          : Effect.map(
            Effect.forEach(batch, (one) => record([one]), { concurrency: "unbounded" }),
            (failed) => failed.flat()
          )
      )
    )

  /** What could not be recorded is tried again until its lease is over; then it is anybody's. */
  const settleAgain = Effect.gen(function*() {
    yield* Queue.take(toRecord)
    const batch = finished.splice(0, settleBatch)
    const failed = new Set(yield* record(batch))
    const at = now()
    if (failed.size > 0) storeFailedAt = at.epochMillis
    const lost = [...failed].filter(({ claimed }) => at.epochMillis >= claimed.leaseEnds.epochMillis)
    for (const one of lost) failed.delete(one)
    slots.record(batch.length - failed.size)
    finished.push(...failed)
    if (finished.length > 0) yield* Queue.offer(toRecord, undefined)
    yield* Queue.offer(wake, undefined)
    if (failed.size > 0) yield* Effect.sleep(storePause)
  })

  const listening = yield* Effect.forkDaemon(Stream.runForEach(store.wakeUps, () => Queue.offer(wake, undefined)))
  const settling = yield* Effect.forkDaemon(Effect.forever(settleAgain))
  const sweeping = yield* Effect.forkDaemon(deadlines.sweep)
  const drain = Effect.gen(function*() {
    yield* Fiber.interrupt(listening)
    while (!slots.isIdle()) yield* Queue.take(wake)
    yield* Fiber.interruptAll([settling, sweeping])
  })

  return yield* Effect.ensuring(Effect.forever(claimAgain), drain)
})

/** Runs a worker as long as the layer lives. When it ends, it waits for the attempts in flight. */
export const layer: Layer.Layer<never, never, DeliveryStore | Callbacks | Secrets> = Layer.scopedDiscard(
  Effect.forkScoped(run)
)
