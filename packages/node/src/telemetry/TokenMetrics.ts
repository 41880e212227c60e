/** Metrics of issued, rotated, refused and revoked tokens. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { OAuth } from "@startlist/core/OAuth"
import { PersonalData } from "@startlist/core/PersonalData"
import * as Series from "./Series.ts"

const issued = Series.make(
  Metric.counter(`${Series.prefix}tokens_issued_total`, { description: "Token pairs issued for an authorization code" })
)
const rotated = Series.make(
  Metric.counter(`${Series.prefix}tokens_rotated_total`, { description: "Token pairs issued for a refresh token" })
)
const refused = Series.make(
  Metric.counter(`${Series.prefix}tokens_refused_total`, {
    description: "Refused token requests, by reason. replayed: the line of tokens was revoked"
  }),
  "grant_type",
  "reason"
)
const rejected = Series.make(
  Metric.counter(`${Series.prefix}access_tokens_rejected_total`, {
    description: "Requests with an invalid access token"
  })
)
const revocations = Series.make(
  Metric.counter(`${Series.prefix}revocations_total`, { description: "Revoked grants, by application or user" }),
  "by"
)

const reasons = [
  "unknown",
  "expired",
  "mismatch",
  "used",
  "replaced",
  "superseded",
  "ended",
  "replayed",
  "revoked",
  "invalid_client",
  "unavailable"
]

for (const series of [issued, rotated, rejected]) series.declare()
for (const by of ["application", "user"]) revocations.declare(by)
for (const grantType of ["authorization_code", "refresh_token"]) {
  for (const reason of reasons) refused.declare(grantType, reason)
}

interface Refused {
  readonly _tag: string
  readonly reason?: string
}

const names: Readonly<Record<string, string>> = {
  InvalidClient: "invalid_client",
  MissingParameter: "missing_parameter",
  StoreError: "unavailable"
}

const reasonOf = ({ _tag, reason }: Refused): string => names[_tag] ?? reason ?? "other"

/** Counts the use cases of tokens. */
const counted = (oauth: OAuth.Service): OAuth.Service => {
  const requesting = <A, E extends Refused>(
    request: Effect.Effect<A, E>,
    given: Series.Series,
    grantType: string
  ): Effect.Effect<A, E> =>
    Effect.mapBoth(request, {
      onSuccess: (tokens) => {
        given.update(1)
        return tokens
      },
      onFailure: (error) => {
        refused.update(1, grantType, reasonOf(error))
        return error
      }
    })
  return {
    ...oauth,
    exchange: (exchange) => requesting(oauth.exchange(exchange), issued, "authorization_code"),
    refresh: (refresh) => requesting(oauth.refresh(refresh), rotated, "refresh_token"),
    authenticate: (token) =>
      Effect.mapError(oauth.authenticate(token), (error) => {
        if (error._tag === "InvalidToken") rejected.update(1)
        return error
      }),
    revoke: (client, token) =>
      Effect.map(oauth.revoke(client, token), (ended) => {
        if (Option.isSome(ended)) revocations.update(1, "application")
        return ended
      }),
    revokeByUser: (applicationId, userId) =>
      Effect.map(oauth.revokeByUser(applicationId, userId), () => revocations.update(1, "user"))
  }
}

/** Counts the grants that erasures revoke. */
const countedErasures = (personalData: PersonalData.Service): PersonalData.Service => ({
  ...personalData,
  erase: (...person) =>
    Effect.tap(personalData.erase(...person), (revoked) => Effect.sync(() => revocations.update(revoked, "user")))
})

type Counted = OAuth | PersonalData

/** Counts the use cases of `OAuth`, and erasures, in these services. */
export const layer = <A, E, R>(services: Layer.Layer<A | Counted, E, R>): Layer.Layer<A | Counted, E, R> =>
  Layer.map(services, (context) =>
    context.pipe(
      Context.add(OAuth, counted(Context.get(context, OAuth))),
      Context.add(PersonalData, countedErasures(Context.get(context, PersonalData)))
    ))
