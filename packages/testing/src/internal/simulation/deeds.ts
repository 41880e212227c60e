/** How each deed of a plan is done, and what its answer promises. */
import { Deliveries } from "@startlist/core/Deliveries"
import type { InvalidGrant } from "@startlist/core/Grant"
import { OAuth, type Tokens } from "@startlist/core/OAuth"
import { Registrations } from "@startlist/core/Registrations"
import * as Retention from "@startlist/core/Retention"
import type { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Ask, Offered, Replied } from "./Callers.ts"
import { type Cast, pkce } from "./Cast.ts"
import type { Node } from "./Node.ts"
import { Deed, describe, type Step } from "./plan.ts"
import { callbackUrl, type Receivers } from "./Receivers.ts"
import type { Issued, Manner, Pair } from "./TokenLedger.ts"
import { mustBeDead, type World } from "./World.ts"

export interface Stage {
  readonly world: World
  readonly cast: Cast
  readonly nodes: ReadonlyArray<Node>
  readonly receivers: Receivers
  readonly ask: Ask
}

const nothing = Effect.void

/** Does one step. Ends when its answer has come, or nobody waits for one any more. */
export const act = (stage: Stage, step: Step): Effect.Effect<void, StoreError> => {
  const { ask, cast, nodes, receivers, world } = stage
  const { deliveries, journal, tokens } = world
  const name = describe(step)

  /** Asks, and keeps book of what it may do to the pair's grant meanwhile. */
  const askFor = <A, E>(pair: Pair, manner: Manner, effect: Effect.Effect<A, E, Offered>, node = step.node) =>
    Effect.gen(function*() {
      const told = manner === "proper" && step.way === "repeated" ? "rough" : manner
      tokens.begin(pair, told)
      const replied = yield* ask({ node, way: step.way, name }, effect)
      return { replied, end: Effect.sync(() => tokens.end(pair, told, Option.isSome(replied))) }
    })

  const dead = (pair: Pair, issued: ReadonlyArray<Issued>) =>
    world.alone.withPermits(1)(mustBeDead(world, pair, issued))

  const issued = (answer: Tokens): Omit<Issued, "of" | "refreshed"> => ({
    access: answer.accessToken,
    refresh: answer.refreshToken,
    createdAt: answer.createdAt.epochMillis
  })

  const consent = (pair: Pair) =>
    Effect.gen(function*() {
      const actor = cast.actors[pair.application]
      const user = cast.users[pair.user]
      if (actor === undefined || user === undefined) return
      const manner: Manner = "proper"
      const effect = Effect.gen(function*() {
        const oauth = yield* OAuth
        const [, challenge] = yield* pkce(pair.application, pair.user)
        const needsPkce = actor.application.requirePkce
        return yield* oauth.consent({
          application: actor.application,
          redirectUri: actor.redirectUri,
          scope: ["profile:read"],
          state: Option.none(),
          role: Option.none(),
          challenge: needsPkce ? Option.some(challenge) : Option.none()
        }, user)
      })
      const consented = tokens.consenting(pair)
      const { end, replied } = yield* askFor(pair, manner, effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        tokens.consented(consented, replied.value.value.right, replied.value.offset)
        journal.count("consents")
      }
      yield* end
    })

  const exchange = (pair: Pair, how: Extract<Deed, { _tag: "Exchange" }>["how"]) =>
    Effect.gen(function*() {
      const consented = [...pair.consents].reverse().find(({ code, exchanged }) =>
        code !== undefined && (how === "again" ? exchanged > 0 : exchanged === 0)
      )
      const other = cast.actors[(pair.application + 1) % cast.actors.length]
      const actor = how === "as another" ? other : cast.actors[pair.application]
      const code = consented?.code
      if (consented === undefined || code === undefined || actor === undefined) return
      const needsPkce = cast.actors[pair.application]?.application.requirePkce === true
      if (how === "without the verifier" && !needsPkce) return
      const effect = Effect.gen(function*() {
        const oauth = yield* OAuth
        const [verifier] = yield* pkce(pair.application, pair.user)
        return yield* oauth.exchange({
          client: actor.client,
          code,
          redirectUri: how === "to another address" ? Option.some("http://localhost/other") : Option.none(),
          verifier: needsPkce && how !== "without the verifier" ? Option.some(Redacted.make(verifier)) : Option.none()
        })
      })
      const isProper = how === "properly" && consented.isSure
      const manner: Manner = isProper ? "proper" : how === "properly" || how === "again" ? "rough" : "reads"
      const wasExchanged = consented.exchanged > 0
      const { end, replied } = yield* askFor(pair, manner, effect)
      if (Option.isSome(replied)) {
        const { began, offset, value } = replied.value
        if (Either.isRight(value)) {
          journal.check(3, manner !== "reads", () => `${name}: the code was accepted`)
          tokens.exchanged(pair, consented, issued(value.right), began + offset)
          yield* dead(pair, tokens.dead(pair))
        } else if (how === "again" && wasExchanged && value.left._tag === "InvalidGrant") {
          yield* dead(pair, tokens.died(pair, consented))
        } else if (how === "properly" && journal.now() - consented.begin < 60_000) {
          tokens.refused(pair, 3, consented, "a fresh code was refused")
        }
      }
      yield* end
    })

  const refreshOnce = (pair: Pair, used: Issued, manner: Manner, node: number) =>
    Effect.gen(function*() {
      const actor = cast.actors[pair.application]
      if (actor === undefined) return Option.none<Replied<Tokens, unknown>>()
      const effect = Effect.flatMap(OAuth, (oauth) => oauth.refresh(actor.client, used.refresh))
      const { end, replied } = yield* askFor(pair, manner, effect, node)
      if (Option.isSome(replied)) {
        const { value } = replied.value
        if (Either.isRight(value)) {
          tokens.refreshed(pair, used, issued(value.right))
          yield* dead(pair, tokens.dead(pair))
        } else if (manner === "proper") tokens.refused(pair, 1, used.of, "the current refresh token was refused")
        else if (value.left._tag === "InvalidGrant") yield* refusal(pair, used, value.left)
      }
      yield* end
      return replied
    })

  /** A replayed token takes its grant with it. */
  const refusal = (pair: Pair, used: Issued, { reason }: InvalidGrant) =>
    reason === "replayed" || reason === "revoked" ? dead(pair, tokens.died(pair, used.of)) : nothing

  const refresh = (pair: Pair, times: number) => {
    const used = pair.issued.at(-1)
    if (used === undefined) return nothing
    const manner: Manner = times === 1 && used.refreshed === 0 && used.of.isSure ? "proper" : "rough"
    const nodesInTurn = Array.from({ length: times }, (_, index) => step.node + index)
    return Effect.forEach(nodesInTurn, (node) => refreshOnce(pair, used, manner, node), {
      concurrency: "unbounded",
      discard: true
    })
  }

  const call = (pair: Pair, back: number) =>
    Effect.gen(function*() {
      const used = pair.issued.at(-1 - back)
      if (used === undefined) return
      const wasDead = used.of.isDead
      const { end, replied } = yield* askFor(
        pair,
        "reads",
        Effect.flatMap(OAuth, (oauth) => oauth.authenticate(used.access))
      )
      if (Option.isSome(replied)) {
        const { began, offset, value } = replied.value
        const isFresh = began - used.createdAt < Duration.toMillis(world.policy.accessTokenLifetime) - 60_000
        if (Either.isRight(value)) tokens.accepted(pair, used, began + offset, wasDead)
        else if (isFresh) tokens.refused(pair, 2, used.of, "an access token was refused")
      }
      yield* end
    })

  const revokeByApplication = (pair: Pair, back: number) =>
    Effect.gen(function*() {
      const actor = cast.actors[pair.application]
      const used = pair.issued.at(-1 - back)
      if (used === undefined || actor === undefined) return
      const wasSure = used.of.isSure
      const begin = journal.now()
      const effect = Effect.flatMap(OAuth, (oauth) => oauth.revoke(actor.client, used.refresh))
      const { end, replied } = yield* askFor(pair, "rough", effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        yield* dead(pair, wasSure ? tokens.revoked(pair, begin) : tokens.died(pair, used.of))
      }
      yield* end
    })

  const revokeByUser = (pair: Pair) =>
    Effect.gen(function*() {
      const actor = cast.actors[pair.application]
      const user = cast.users[pair.user]
      if (actor === undefined || user === undefined) return
      const wasSure = pair.changing === 0 && pair.consents.some(({ end, isSure }) => isSure && end <= journal.now())
      const [begin, moment, changes] = [journal.now(), journal.moment, pair.changes]
      const effect = Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(actor.application.id, user.id))
      const { end, replied } = yield* askFor(pair, "rough", effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        yield* dead(pair, tokens.revoked(pair, begin))
        // Had another call ended the grant meanwhile, there would have been nothing left to tell.
        const wasAlone = wasSure && pair.changes === changes + 1
        const hasEvent = user.role === "athlete" || user.role === "organizer"
        journal.check(4, !wasAlone || !hasEvent || deliveries.toldOf(actor.application.id, user.id) >= moment, () =>
          `${name}: it was done, and no event was saved with it`)
      }
      yield* end
    })

  const subscribe = (application: number) =>
    Effect.gen(function*() {
      const actor = cast.actors[application]
      if (actor === undefined) return
      const wanted = { callbackUrl: callbackUrl(application), verifyToken: Redacted.make(`verify-${application}`) }
      const begin = journal.now()
      const replied = yield* ask(
        { node: step.node, way: step.way, name },
        Effect.flatMap(Subscriptions, (subscriptions) => subscriptions.create(actor.access, wanted))
      )
      if (Option.isNone(replied)) return
      const { value } = replied.value
      if (Either.isRight(value)) {
        journal.check(7, deliveries.subscriptions.has(value.right.id), () =>
          `${name}: subscription ${value.right.id} was answered and never stored`)
      }
      const isGood = receivers.isGood(wanted.callbackUrl) && (world.goodSince.get(wanted.callbackUrl) ?? 0) < begin
      journal.check(7, Either.isRight(value) || value.left._tag !== "ValidationFailed" || !isGood, () =>
        `${name}: its receiver answered the challenge, and the validation failed`)
    })

  const unsubscribe = (application: number) =>
    Effect.gen(function*() {
      const actor = cast.actors[application]
      if (actor === undefined) return
      const before = deliveries.subscribedOf(actor.application.id)
      const replied = yield* ask(
        { node: step.node, way: step.way, name },
        Effect.flatMap(Subscriptions, (subscriptions) => subscriptions.remove(actor.access, Option.none()))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value) || before === undefined) return
      journal.check(8, deliveries.subscriptions.get(before.id)?.removed === true, () =>
        `${name}: it was answered, and subscription ${before.id} is still there`)
    })

  const change = (registration: number) =>
    Effect.gen(function*() {
      const id = cast.registrations[registration]
      if (id === undefined) return
      const comment = `change ${Math.floor(step.at)}`
      const replied = yield* ask(
        { node: step.node, way: step.way, name },
        Effect.flatMap(Registrations, (registrations) => registrations.change(id, { comment }))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value)) return
      journal.count("changes")
      journal.check(4, deliveries.hasComment(id, comment), () =>
        `${name}: it was answered, and no event was saved with it`)
    })

  const redeliver = (application: number) => {
    const actor = cast.actors[application]
    if (actor === undefined) return nothing
    const filter = {
      applicationId: Option.some(actor.application.id),
      state: Option.none(),
      after: Option.none(),
      limit: 5
    }
    const effect = Effect.flatMap(Deliveries, (service) =>
      Effect.flatMap(service.list(filter), (found) => {
        const ended = found.find(({ state }) => state !== "pending")
        return ended === undefined ? nothing : service.redeliver(ended.id)
      }))
    return ask({ node: step.node, way: step.way, name }, effect)
  }

  const node = nodes[step.node]
  const pairOf = (of: { readonly application: number; readonly user: number }) => tokens.pair(of.application, of.user)
  journal.tell(name)
  return Effect.asVoid(Deed.$match(step.deed, {
    Consent: (of): Effect.Effect<unknown, StoreError> => consent(pairOf(of)),
    Exchange: (of) => exchange(pairOf(of), of.how),
    Refresh: (of) => refresh(pairOf(of), of.times),
    Replay: (of) => {
      const pair = pairOf(of)
      const used = pair.issued.at(-1 - of.back)
      return used === undefined ? nothing : refreshOnce(pair, used, "rough", step.node)
    },
    Call: (of) => call(pairOf(of), of.back),
    RevokeByApplication: (of) => revokeByApplication(pairOf(of), of.back),
    RevokeByUser: (of) => revokeByUser(pairOf(of)),
    Subscribe: ({ application }) => subscribe(application),
    Unsubscribe: ({ application }) => unsubscribe(application),
    Change: ({ registration }) => change(registration),
    Redeliver: ({ application }) => redeliver(application),
    Purge: () => ask({ node: step.node, way: step.way, name }, Retention.purge),
    Receiver: ({ application, habit }) => Effect.sync(() => receivers.behave(callbackUrl(application), habit)),
    Way: ({ application, count, way }) => Effect.sync(() => receivers.obstruct(callbackUrl(application), way, count)),
    Crash: ({ call, downMs, moment }) =>
      Effect.sync(() => {
        if (node?.life !== undefined) node.crash = { call, moment, downMs }
      }),
    Store: ({ count, fault, operation }) => Effect.sync(() => void node?.faults.push({ operation, fault, left: count }))
  }))
}
