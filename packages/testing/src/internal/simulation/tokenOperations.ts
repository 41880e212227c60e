/** How codes and tokens are asked for, used and revoked, and what the answers promise. */
import type { InvalidGrant } from "@startlist/core/Grant"
import { OAuth } from "@startlist/core/OAuth"
import type { Tokens } from "@startlist/core/Token"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Offered, Replied } from "./requests.ts"
import { pkce } from "./fixture.ts"
import { describe, type Of, type Operation, type Step } from "./plan.ts"
import type { OperationContext } from "./requests.ts"
import type { Answered, Expectation, Issued, Pair } from "./TokenChecker.ts"
import { mustBeDead } from "./context.ts"

/** A client gives up after so many. Each takes up to a minute. */
const maxTries = 5

export const tokenOperations = ({ ask, fixture, context }: OperationContext, step: Step) => {
  const { deliveries, history, tokens } = context
  const name = describe(step)
  const pairOf = ({ application, user }: Of) => tokens.pair(application, user)

  /** Asks, and keeps book of what it may do to the pair's grant meanwhile. */
  const askFor = <A, E>(pair: Pair, expectation: Expectation, effect: Effect.Effect<A, E, Offered>, node = step.node) =>
    Effect.gen(function*() {
      const expected = expectation === "succeeds" && step.network === "duplicated" ? "may fail" : expectation
      tokens.begin(pair, expected)
      const replied = yield* ask({ node, network: step.network, name }, effect)
      return { replied, end: Effect.sync(() => tokens.end(pair, expected, Option.isSome(replied))) }
    })

  /** The same for a request with an `Idempotency-Key`: the client repeats it until it is answered. */
  const askAgainFor = <A, E>(
    pair: Pair,
    expectation: Expectation,
    effect: Effect.Effect<A, E, Offered>,
    node = step.node
  ) =>
    Effect.gen(function*() {
      if (!context.retries) return yield* askFor(pair, expectation, effect, node)
      tokens.begin(pair, expectation)
      let [begun, over] = [0, 0]
      const counted = Effect.suspend(() => {
        begun++
        return Effect.ensuring(effect, Effect.sync(() => void over++))
      })
      let replied: Option.Option<Replied<A, E>> = Option.none()
      for (let tries = 0; tries < maxTries && Option.isNone(replied); tries++) {
        const network = tries === 0 ? step.network : "none"
        replied = yield* ask({ node: node + tries, network, name: tries === 0 ? name : `${name}, again` }, counted)
        if (tries > 0 && Option.isSome(replied)) history.count("lost answers")
      }
      // What is still under way, or died with its node, may yet do something.
      const end = Effect.sync(() => tokens.end(pair, expectation, Option.isSome(replied) && begun === over))
      return { replied, end }
    })

  const key = context.retries ? Option.some(`${step.at}`) : Option.none()

  const dead = (pair: Pair, issued: ReadonlyArray<Issued>) => context.alone(mustBeDead(context, pair, issued))

  const answered = (
    answer: Tokens,
    { began, offset }: Pick<Replied<Tokens, unknown>, "began" | "offset">
  ): Answered => ({
    access: answer.accessToken,
    refresh: answer.refreshToken,
    createdAt: answer.createdAt.epochMillis,
    began,
    offset
  })

  const consent = (of: Of) =>
    Effect.gen(function*() {
      const pair = pairOf(of)
      const client = fixture.clients[pair.application]
      const user = fixture.users[pair.user]
      if (client === undefined || user === undefined) return
      const effect = Effect.gen(function*() {
        const oauth = yield* OAuth
        const [, challenge] = yield* pkce(pair.application, pair.user)
        const needsPkce = client.application.requirePkce
        return yield* oauth.consent({
          application: client.application,
          redirectUri: client.redirectUri,
          scope: ["profile:read"],
          state: Option.none(),
          role: Option.none(),
          challenge: needsPkce ? Option.some(challenge) : Option.none()
        }, user)
      })
      const consented = tokens.consenting(pair)
      const { end, replied } = yield* askFor(pair, "succeeds", effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        tokens.consented(consented, replied.value.value.right, replied.value.offset)
        history.count("consents")
      }
      yield* end
    })

  const exchange = ({ how, ...of }: Extract<Operation, { _tag: "Exchange" }>) =>
    Effect.gen(function*() {
      const pair = pairOf(of)
      const consented = [...pair.consents].reverse().find(({ code, isExchanged }) =>
        code !== undefined && (how === "again") === isExchanged
      )
      const other = fixture.clients[(pair.application + 1) % fixture.clients.length]
      const client = how === "as another" ? other : fixture.clients[pair.application]
      const code = consented?.code
      if (consented === undefined || code === undefined || client === undefined) return
      const needsPkce = fixture.clients[pair.application]?.application.requirePkce === true
      if (how === "without the verifier" && !needsPkce) return
      const effect = Effect.gen(function*() {
        const oauth = yield* OAuth
        const [verifier] = yield* pkce(pair.application, pair.user)
        return yield* oauth.exchange({
          client: client.client,
          code,
          idempotencyKey: key,
          redirectUri: how === "to another address" ? Option.some("http://localhost/other") : Option.none(),
          verifier: needsPkce && how !== "without the verifier" ? Option.some(Redacted.make(verifier)) : Option.none()
        })
      })
      const isProper = how === "properly" && consented.isSure
      const expectation: Expectation = isProper
        ? "succeeds"
        : how === "properly" || how === "again"
        ? "may fail"
        : "read-only"
      const wasExchanged = consented.isExchanged
      const { end, replied } = yield* askAgainFor(pair, expectation, effect)
      if (Option.isSome(replied)) {
        const { value } = replied.value
        if (Either.isRight(value)) {
          history.check(3, expectation !== "read-only", `${name}: the code was accepted`)
          tokens.exchanged(pair, consented, answered(value.right, replied.value))
          yield* dead(pair, tokens.dead(pair))
        } else if (how === "again" && wasExchanged && value.left._tag === "InvalidGrant") {
          if (tokens.isKnown(consented) || isFatal(value.left)) yield* dead(pair, tokens.died(pair, consented))
        } else if (how === "properly" && history.now() - consented.begin < 60_000) {
          tokens.refused(pair, 3, consented, "a fresh code")
        }
      }
      yield* end
    })

  const refreshOnce = (pair: Pair, used: Issued, expectation: Expectation, node: number) =>
    Effect.gen(function*() {
      const client = fixture.clients[pair.application]
      if (client === undefined) return Option.none<Replied<Tokens, unknown>>()
      const effect = Effect.flatMap(OAuth, (oauth) =>
        oauth.refresh({ client: client.client, token: used.refresh, idempotencyKey: key }))
      const { end, replied } = yield* askAgainFor(pair, expectation, effect, node)
      if (Option.isSome(replied)) {
        const { value } = replied.value
        if (Either.isRight(value)) {
          tokens.refreshed(pair, used, answered(value.right, replied.value))
          yield* dead(pair, tokens.dead(pair))
        } else if (expectation === "succeeds") {
          tokens.refused(pair, 1, used.of, "the current refresh token")
        } else if (value.left._tag === "InvalidGrant") {
          yield* refusal(pair, used, value.left)
        }
      }
      yield* end
      return replied
    })

  const isFatal = ({ reason }: Pick<InvalidGrant, "reason">) => reason === "replayed" || reason === "revoked"

  /** A replayed token takes its grant with it. */
  const refusal = (pair: Pair, used: Issued, refused: InvalidGrant) =>
    isFatal(refused) ? dead(pair, tokens.died(pair, used.of)) : Effect.void

  const refresh = ({ times, ...of }: Of & { readonly times: number }) => {
    const pair = pairOf(of)
    const used = pair.issued.at(-1)
    if (used === undefined) return Effect.void
    const expectation: Expectation = times === 1 && used.refreshedAt === Infinity && used.of.isSure
      ? "succeeds"
      : "may fail"
    const nodesInTurn = Array.from({ length: times }, (_, index) => step.node + index)
    return Effect.forEach(nodesInTurn, (node) => refreshOnce(pair, used, expectation, node), {
      concurrency: "unbounded",
      discard: true
    })
  }

  const replay = ({ back, ...of }: Of & { readonly back: number }) => {
    const pair = pairOf(of)
    const used = pair.issued.at(-1 - back)
    return used === undefined ? Effect.void : refreshOnce(pair, used, "may fail", step.node)
  }

  const call = ({ back, ...of }: Of & { readonly back: number }) =>
    Effect.gen(function*() {
      const pair = pairOf(of)
      const used = pair.issued.at(-1 - back)
      if (used === undefined) return
      const wasDead = used.of.isDead
      const { end, replied } = yield* askFor(
        pair,
        "read-only",
        Effect.flatMap(OAuth, (oauth) => oauth.authenticate(used.access))
      )
      if (Option.isSome(replied)) {
        const { began, offset, value } = replied.value
        const isFresh = began - used.createdAt < Duration.toMillis(context.policy.accessTokenLifetime) - 60_000
        if (Either.isRight(value)) tokens.accepted(pair, used, began + offset, wasDead)
        else if (isFresh) tokens.refused(pair, 2, used.of, "an access token")
      }
      yield* end
    })

  const revokeByApplication = ({ back, ...of }: Of & { readonly back: number }) =>
    Effect.gen(function*() {
      const pair = pairOf(of)
      const client = fixture.clients[pair.application]
      const used = pair.issued.at(-1 - back)
      if (used === undefined || client === undefined) return
      const wasSure = used.of.isSure
      const begin = history.now()
      const effect = Effect.flatMap(OAuth, (oauth) => oauth.revoke(client.client, used.refresh))
      const { end, replied } = yield* askFor(pair, "may fail", effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        yield* dead(pair, wasSure ? tokens.revoked(pair, begin) : tokens.died(pair, used.of))
      }
      yield* end
    })

  const revokeByUser = (of: Of) =>
    Effect.gen(function*() {
      const pair = pairOf(of)
      const client = fixture.clients[pair.application]
      const user = fixture.users[pair.user]
      if (client === undefined || user === undefined) return
      const wasSure = pair.changing === 0 && pair.consents.some(({ end, isSure }) => isSure && end <= history.now())
      const [begin, moment, changes] = [history.now(), history.moment, pair.changes]
      const effect = Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(client.application.id, user.id))
      const { end, replied } = yield* askFor(pair, "may fail", effect)
      if (Option.isSome(replied) && Either.isRight(replied.value.value)) {
        yield* dead(pair, tokens.revoked(pair, begin))
        // Had another call ended the grant meanwhile, there would have been nothing left to record.
        const wasAlone = wasSure && pair.changes === changes + 1
        const hasEvent = user.role === "athlete" || user.role === "organizer"
        history.check(
          4,
          !wasAlone || !hasEvent || deliveries.lastRevocation(client.application.id, user.id) >= moment,
          `${name}: it was done, and no event was saved with it`
        )
      }
      yield* end
    })

  return { consent, exchange, refresh, replay, call, revokeByApplication, revokeByUser }
}
