/** How codes and tokens are requested, used and revoked, and what the answers promise. */
import { OAuth } from "@startlist/core/OAuth"
import type { Tokens } from "@startlist/core/Token"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Offered, OperationContext, Replied } from "./requests.ts"
import { pkce } from "./fixture.ts"
import { describe, type Of, type Operation, type Step } from "./plan.ts"
import type { Answered, Expectation, Issued, Pair } from "./TokenChecker.ts"
import { mustBeDead } from "./context.ts"

/** Maximum number of requests until a client gives up. Each takes up to a minute. */
const maxTries = 5

export const tokenOperations = ({ ask, context, fixture }: OperationContext, step: Step) => {
  const { deliveries, history, tokens } = context
  const name = describe(step)
  const involved = ({ application, user }: Of) => ({
    client: fixture.clients[application],
    pair: tokens.pair(application, user),
    user: fixture.users[user]
  })
  const key = context.retries ? Option.some(`${step.at}`) : Option.none()

  /** Sends a request, and marks the grant as possibly changing until it returns. With a key, the client repeats it. */
  const send = <A, E>(
    pair: Pair,
    expectation: Expectation,
    effect: Effect.Effect<A, E, Offered>,
    { hasKey = false, node = step.node } = {}
  ) =>
    Effect.gen(function*() {
      const repeats = hasKey && context.retries
      const isDoubled = !repeats && step.network === "duplicated"
      const expected = expectation === "succeeds" && isDoubled ? "may fail" : expectation
      tokens.begin(pair, expected)
      let [begun, over] = [0, 0]
      const counted = Effect.suspend(() => {
        begun++
        return Effect.ensuring(effect, Effect.sync(() => void over++))
      })
      let replied: Option.Option<Replied<A, E>> = Option.none()
      for (let tries = 0; tries < (repeats ? maxTries : 1) && Option.isNone(replied); tries++) {
        const network = tries === 0 ? step.network : "none"
        replied = yield* ask({ node: node + tries, network, name: tries === 0 ? name : `${name}, again` }, counted)
        if (tries > 0 && Option.isSome(replied)) history.count("lost answers")
      }
      const { began = 0, offset = 0, value } = Option.getOrUndefined(replied) ?? {}
      return {
        began,
        offset,
        isDone: value !== undefined && Either.isRight(value),
        answer: value && Option.getOrUndefined(Either.getRight(value)),
        refusal: value && Option.getOrUndefined(Either.getLeft(value)),
        // A request in progress, or one that died with its node, may still change the grant.
        end: Effect.sync(() => tokens.end(pair, expected, value !== undefined && (!repeats || begun === over)))
      }
    })

  const mustEnd = (pair: Pair, issued: ReadonlyArray<Issued>) => context.alone(mustBeDead(context, pair, issued))

  const answered = (answer: Tokens, { began, offset }: Pick<Answered, "began" | "offset">): Answered => ({
    access: answer.accessToken,
    refresh: answer.refreshToken,
    createdAt: answer.createdAt.epochMillis,
    began,
    offset
  })

  const isFatal = (refusal: object): boolean =>
    "reason" in refusal && (refusal.reason === "replayed" || refusal.reason === "revoked")

  const consent = Effect.fnUntraced(function*(of: Of) {
    const { client, pair, user } = involved(of)
    if (client === undefined || user === undefined) return
    const { application, redirectUri } = client
    const effect = Effect.gen(function*() {
      const [, challenge] = yield* pkce(of.application, of.user)
      return yield* (yield* OAuth).consent({
        application,
        redirectUri,
        scope: ["profile:read"],
        state: Option.none(),
        role: Option.none(),
        challenge: application.requirePkce ? Option.some(challenge) : Option.none()
      }, user)
    })
    const consented = tokens.consenting(pair)
    const { answer, end, offset } = yield* send(pair, "succeeds", effect)
    if (answer !== undefined) {
      tokens.consented(consented, answer, offset)
      history.count("consents")
    }
    yield* end
  })

  const exchange = Effect.fnUntraced(function*({ how, ...of }: Extract<Operation, { _tag: "Exchange" }>) {
    const { client: owner, pair } = involved(of)
    const consented = [...pair.consents].reverse().find(({ code, isExchanged }) =>
      code !== undefined && (how === "again") === isExchanged
    )
    const client = how === "as another" ? fixture.clients[(of.application + 1) % fixture.clients.length] : owner
    const code = consented?.code
    if (consented === undefined || code === undefined || client === undefined) return
    const needsPkce = owner?.application.requirePkce === true
    if (how === "without the verifier" && !needsPkce) return
    const effect = Effect.gen(function*() {
      const [verifier] = yield* pkce(of.application, of.user)
      return yield* (yield* OAuth).exchange({
        client: client.client,
        code,
        idempotencyKey: key,
        redirectUri: how === "to another address" ? Option.some("http://localhost/other") : Option.none(),
        verifier: needsPkce && how !== "without the verifier" ? Option.some(Redacted.make(verifier)) : Option.none()
      })
    })
    const isProper = how === "properly" && consented.isSure
    const expectation = isProper ? "succeeds" : how === "properly" || how === "again" ? "may fail" : "read-only"
    const wasExchanged = consented.isExchanged
    const { answer, end, refusal, ...when } = yield* send(pair, expectation, effect, { hasKey: true })
    if (answer !== undefined) {
      history.check(3, expectation !== "read-only", `${name}: the code was accepted`)
      tokens.exchanged(pair, consented, answered(answer, when))
      yield* mustEnd(pair, tokens.dead(pair))
    } else if (refusal !== undefined && how === "again" && wasExchanged && refusal._tag === "InvalidGrant") {
      if (tokens.isKnown(consented) || isFatal(refusal)) yield* mustEnd(pair, tokens.died(pair, consented))
    } else if (refusal !== undefined && how === "properly" && history.now() - consented.begin < 60_000) {
      tokens.refused(pair, 3, consented, "a fresh code")
    }
    yield* end
  })

  const refreshOnce = Effect.fnUntraced(function*(of: Of, used: Issued, expectation: Expectation, node: number) {
    const { client, pair } = involved(of)
    if (client === undefined) return
    const effect = Effect.flatMap(
      OAuth,
      (oauth) => oauth.refresh({ client: client.client, token: used.refresh, idempotencyKey: key })
    )
    const { answer, end, refusal, ...when } = yield* send(pair, expectation, effect, { hasKey: true, node })
    if (answer !== undefined) {
      tokens.refreshed(pair, used, answered(answer, when))
      yield* mustEnd(pair, tokens.dead(pair))
    } else if (refusal !== undefined && expectation === "succeeds") {
      tokens.refused(pair, 1, used.of, "the current refresh token")
    } else if (refusal !== undefined && isFatal(refusal)) {
      // A replayed token ends its grant.
      yield* mustEnd(pair, tokens.died(pair, used.of))
    }
    yield* end
  })

  const refresh = ({ times, ...of }: Of & { readonly times: number }) => {
    const used = involved(of).pair.issued.at(-1)
    if (used === undefined) return Effect.void
    const isProper = times === 1 && used.refreshedAt === Infinity && used.of.isSure
    const nodes = Array.from({ length: times }, (_, index) => step.node + index)
    return Effect.forEach(nodes, (node) => refreshOnce(of, used, isProper ? "succeeds" : "may fail", node), {
      concurrency: "unbounded",
      discard: true
    })
  }

  const replay = ({ back, ...of }: Of & { readonly back: number }) => {
    const used = involved(of).pair.issued.at(-1 - back)
    return used === undefined ? Effect.void : refreshOnce(of, used, "may fail", step.node)
  }

  const call = Effect.fnUntraced(function*({ back, ...of }: Of & { readonly back: number }) {
    const { pair } = involved(of)
    const used = pair.issued.at(-1 - back)
    if (used === undefined) return
    const wasDead = used.of.isDead
    const effect = Effect.flatMap(OAuth, (oauth) => oauth.authenticate(used.access))
    const { began, end, isDone, offset, refusal } = yield* send(pair, "read-only", effect)
    const isFresh = began - used.createdAt < Duration.toMillis(context.policy.accessTokenLifetime) - 60_000
    if (isDone) tokens.accepted(pair, used, began + offset, wasDead)
    else if (refusal !== undefined && isFresh) tokens.refused(pair, 2, used.of, "an access token")
    yield* end
  })

  const revokeByApplication = Effect.fnUntraced(function*({ back, ...of }: Of & { readonly back: number }) {
    const { client, pair } = involved(of)
    const used = pair.issued.at(-1 - back)
    if (used === undefined || client === undefined) return
    const wasSure = used.of.isSure
    const begin = history.now()
    const effect = Effect.flatMap(OAuth, (oauth) => oauth.revoke(client.client, used.refresh))
    const { end, isDone } = yield* send(pair, "may fail", effect)
    if (isDone) yield* mustEnd(pair, wasSure ? tokens.revoked(pair, begin) : tokens.died(pair, used.of))
    yield* end
  })

  const revokeByUser = Effect.fnUntraced(function*(of: Of) {
    const { client, pair, user } = involved(of)
    if (client === undefined || user === undefined) return
    const { application } = client
    const wasSure = pair.changing === 0 && pair.consents.some(({ end, isSure }) => isSure && end <= history.now())
    const [begin, moment, changes] = [history.now(), history.moment, pair.changes]
    const effect = Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(application.id, user.id))
    const { end, isDone } = yield* send(pair, "may fail", effect)
    if (isDone) {
      yield* mustEnd(pair, tokens.revoked(pair, begin))
      // If another operation ended the grant in between, this one has no event.
      const wasAlone = wasSure && pair.changes === changes + 1
      const hasEvent = user.role === "athlete" || user.role === "organizer"
      const isQueued = deliveries.lastRevocation(application.id, user.id) >= moment
      history.check(4, !wasAlone || !hasEvent || isQueued, `${name}: it was done, and no event was saved with it`)
    }
    yield* end
  })

  return { consent, exchange, refresh, replay, call, revokeByApplication, revokeByUser }
}
