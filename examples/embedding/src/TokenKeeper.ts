/** A part of an application that is tested with Startlist in memory. */
import { type Client, OAuth, type Token } from "@startlist/core"
import { Clock, Duration, Effect, Ref } from "effect"

/** Time before the expiry of an access token at which it is refreshed. */
const margin = Duration.minutes(1)

/** Stores the latest tokens, and returns a valid access token. */
export const make = (client: Client.ClientCredentials, first: Token.TokenAnswer) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth.OAuth
    const latest = yield* Ref.make(first)
    const turn = (yield* Effect.makeSemaphore(1)).withPermits(1)
    const accessToken = Effect.gen(function*() {
      const tokens = yield* Ref.get(latest)
      const now = yield* Clock.currentTimeMillis
      if (now + Duration.toMillis(margin) < tokens.expiresAt.epochMillis) return tokens.accessToken
      const next = yield* oauth.refresh({ client, token: tokens.refreshToken })
      yield* Ref.set(latest, next)
      return next.accessToken
    })
    return { accessToken: turn(accessToken) }
  })
