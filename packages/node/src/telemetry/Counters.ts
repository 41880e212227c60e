/** Counters of the entries that the services write to the audit: tokens, delivery attempts and callback validations. */
import * as Option from "effect/Option"
import type { Entry, GrantType } from "@startlist/core/Audit"
import type { Answer } from "@startlist/core/Callbacks"
import { Attempt, type Delivery } from "@startlist/core/Delivery"
import { withoutKey } from "@startlist/postgres/Queue"
import * as Prometheus from "./Prometheus.ts"

const issued = Prometheus.counter("tokens_issued_total", "Token pairs issued for an authorization code")
const rotated = Prometheus.counter("tokens_rotated_total", "Token pairs issued for a refresh token")
const refused = Prometheus.counter(
  "tokens_refused_total",
  "Refused token requests, by reason. replayed: the line of tokens was revoked",
  "grant_type",
  "reason"
)
const rejected = Prometheus.counter("access_tokens_rejected_total", "Requests with an invalid access token")
const revocations = Prometheus.counter("revocations_total", "Revoked grants, by application or user", "by")

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
  "not_admitted",
  "unavailable"
]

for (const series of [issued, rotated, rejected]) series.declare()
for (const by of ["application", "user"]) revocations.declare(by)
for (const grantType of ["authorization_code", "refresh_token"]) {
  for (const reason of reasons) refused.declare(grantType, reason)
}

const attempts = Prometheus.counter(
  "delivery_attempts_total",
  "Recorded delivery attempts, by outcome and number of the attempt",
  "outcome",
  "attempt"
)
const attemptDurations = Prometheus.histogram(
  "delivery_attempt_duration_seconds",
  Prometheus.shortTimes,
  "Time from the start of a delivery attempt to its outcome",
  "outcome"
)
const ended = Prometheus.counter(
  "deliveries_ended_total",
  "Deliveries that ended: delivered, exhausted after the last failure, or set aside without an outcome. "
    + "The label application is a client_id once a delivery to it has failed, otherwise other",
  "state",
  "application"
)
const latencies = Prometheus.histogram(
  "delivery_latency_seconds",
  Prometheus.longTimes,
  "Time from a change to the receiver's 200 for its event"
)
const validations = Prometheus.counter(
  "callback_validations_total",
  "Validations of callbacks, by status of the response, or TimedOut, Unreachable, Forbidden",
  "outcome"
)

for (const outcome of Attempt.fields.outcome.literals) {
  attempts.declare(outcome, "1")
  attemptDurations.declare(outcome)
}
const endStates = ["delivered", "exhausted", "set_aside"]
const declareEnds = (application: string) => endStates.forEach((state) => ended.declare(state, application))
declareEnds("other")
withoutKey.unsafeValue([])
latencies.declare()
validations.declare("200")

/** Maximum number of applications with their own series. */
const maxFailing = 200

const failing = new Map<number, string>()

const labelOf = ({ applicationId, state }: Delivery): string => {
  const known = failing.get(applicationId)
  if (known !== undefined) return known
  if (state === "delivered" || failing.size >= maxFailing) return "other"
  const label = String(applicationId)
  failing.set(applicationId, label)
  declareEnds(label)
  return label
}

/** Counts a settled delivery. */
const settle = (delivery: Delivery): void => {
  if (delivery.state === "set_aside") return ended.update(1, delivery.state, labelOf(delivery))
  const attempt = delivery.attempts.at(-1)
  if (attempt === undefined) return
  attempts.update(1, attempt.outcome, String(delivery.attempts.length))
  attemptDurations.update(attempt.durationMs / 1000, attempt.outcome)
  if (Option.isNone(delivery.endedAt)) return
  ended.update(1, delivery.state, labelOf(delivery))
  if (delivery.state !== "delivered") return
  latencies.update(Math.max(0, delivery.endedAt.value.epochMillis - delivery.event.time.epochMillis) / 1000)
}

const outcomeOf = (answer: Answer): string => answer._tag === "Answered" ? String(answer.status) : answer._tag

const issuedFor: Readonly<Record<GrantType, Prometheus.Series>> = { authorization_code: issued, refresh_token: rotated }

/** Counts an entry. */
export const count = (entry: Entry): void => {
  switch (entry._tag) {
    case "TokensIssued":
      return issuedFor[entry.grantType].update(1)
    case "TokensRefused":
      return refused.update(1, entry.grantType, entry.reason)
    case "AccessRefused":
      return rejected.update(1)
    case "GrantsRevoked":
      return revocations.update(entry.count, entry.by)
    case "DeliverySettled":
      return settle(entry.delivery)
    case "CallbackValidated":
      return validations.update(1, outcomeOf(entry.answer))
  }
}
