/** The stores as the nodes reach them: the model and the checkers follow every write. */
import { ApplicationStore } from "@startlist/core/Application"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { GrantStore } from "@startlist/core/Grant"
import { RegistrationStore } from "@startlist/core/Registration"
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import { audit, auditTokens, auditWrite, type SimulationContext } from "./context.ts"
import { type Call, currentCall } from "./Oracle.ts"

/** The stores of one node. Every write is recorded and audited. */
export const observe = (context: SimulationContext, holder: { readonly isAlive: boolean }): Context.Context<Stores> => {
  const { attempts, between, history, oracle, stores } = context
  const applications = Context.get(stores, ApplicationStore)
  const grants = Context.get(stores, GrantStore)
  const registrations = Context.get(stores, RegistrationStore)
  const subscriptions = Context.get(stores, SubscriptionStore)
  const queue = Context.get(stores, DeliveryQueue)

  const then = <A, E>(write: Effect.Effect<A, E>, learn: (answer: A) => Effect.Effect<unknown, E | StoreError>) =>
    context.alone(Effect.tap(write, (answer) => {
      if (!holder.isAlive) history.count("writes of dead nodes")
      return learn(answer)
    }))
  /** A write that the model follows. Audits the queued events, and the tokens of the concerned grants. */
  const step = <A, E>(
    what: string,
    write: Effect.Effect<A, E>,
    learn: (answer: A, call: Call | undefined) => ReadonlyArray<string>,
    isConcerned?: (grant: string) => boolean
  ) =>
    Effect.flatMap(
      FiberRef.get(currentCall),
      (call) =>
        then(Effect.tapError(write, () => Effect.sync(() => oracle.reads(call))), (answer) => {
          history.record(what)
          const checked = auditWrite(context, what, learn(answer, call))
          return isConcerned === undefined ? checked : Effect.zipRight(checked, auditTokens(context, isConcerned))
        })
    )
  const reading = <A, E>(read: Effect.Effect<A, E>, isStanding = false) =>
    Effect.flatMap(FiberRef.get(currentCall), (call) =>
      call === undefined ? read : between(Effect.zipLeft(
        read,
        Effect.sync(() => isStanding ? oracle.authenticates(call) : oracle.reads(call))
      )))

  return stores.pipe(
    Context.add(ApplicationStore, {
      ...applications,
      find: (id) => reading(applications.find(id), true),
      save: (next) =>
        step(
          `application ${next.id} is saved, ${next.state}`,
          applications.save(next),
          (_, call) => {
            context.lastFault = history.now()
            return oracle.savedApplication(next, call)
          },
          (grant) => oracle.isOf(grant, next.id)
        )
    }),
    Context.add(GrantStore, {
      ...grants,
      find: (applicationId, userId) => reading(grants.find(applicationId, userId)),
      save: (change) => {
        const { applicationId, status, userId } = change.grant
        const what = `the grant of user ${userId} to application ${applicationId} is saved, ${status}`
        const isConcerned = (grant: string) => oracle.isOf(grant, applicationId, userId)
        return step(what, grants.save(change), (_, call) => oracle.savedGrant(change, call), isConcerned)
      }
    }),
    Context.add(RegistrationStore, {
      ...registrations,
      find: (id) => reading(registrations.find(id)),
      save: (next, outgoing) =>
        step(
          `registration ${next.id} is saved, ${next.updates.registration_status}`,
          registrations.save(next, outgoing),
          (_, call) => oracle.savedRegistration(next, call)
        )
    }),
    Context.add(SubscriptionStore, {
      ...subscriptions,
      findByApplication: (id) => reading(subscriptions.findByApplication(id)),
      insert: (subscription) =>
        step(
          `a subscription of application ${subscription.applicationId} is stored`,
          subscriptions.insert(subscription),
          (inserted, call) => oracle.inserted(inserted, call)
        ),
      save: (next) =>
        step(
          `subscription ${next.id} is ${next.paused ? "paused" : "resumed"}`,
          subscriptions.save(next),
          (_, call) => {
            context.lastFault = history.now()
            return oracle.paused(next, call)
          }
        ),
      remove: (id, now) =>
        step(`subscription ${id} is removed`, subscriptions.remove(id, now), (isRemoved, call) => {
          if (isRemoved) return oracle.removed(id, call)
          oracle.missed(id, call)
          return []
        })
    }),
    Context.add(DeliveryQueue, {
      ...queue,
      claim: (request) =>
        then(queue.claim(request), (claimed) => Effect.sync(() => attempts.claimed(request, claimed, holder))),
      settle: (settlements) =>
        then(queue.settle(settlements), (ids) => {
          attempts.settled(settlements, ids)
          return audit(context)
        }),
      release: (claims, dueAt) =>
        then(queue.release(claims, dueAt), (ids) => Effect.sync(() => attempts.released(ids))),
      again: (original, now, only) =>
        step(
          `${original.event.id} is delivered again, if subscription ${original.subscriptionId} exists`,
          queue.again(original, now, only),
          (again, call) => {
            if (Option.isSome(again)) return oracle.again(again.value, call)
            oracle.missed(original.subscriptionId, call)
            return []
          }
        )
    })
  )
}
