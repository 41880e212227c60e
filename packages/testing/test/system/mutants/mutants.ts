/** Planted faults: realistic mistakes in the rules and the stores. Each shows which suite detects it. */

export interface Mutant {
  /** The fault in words. */
  readonly name: string
  /** Below `packages/core/src`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly from: string
  readonly to: string
}

const of = (file: string) => (name: string, from: string, to: string): Mutant => ({ name, file, from, to })

const access = of("Access.ts")
const grant = of("Grant.ts")
const tokens = of("AccessTokens.ts")
const oauth = of("OAuth.ts")
const application = of("Application.ts")
const secret = of("ApplicationSecret.ts")
const authorization = of("Authorization.ts")
const subscription = of("Subscription.ts")
const token = of("Token.ts")
const subscriptions = of("Subscriptions.ts")
const applications = of("Applications.ts")
const registrations = of("Registrations.ts")
const registration = of("Registration.ts")
const delivery = of("Delivery.ts")
const event = of("Event.ts")
const worker = of("Worker.ts")
const attempts = of("WorkerAttempts.ts")
const recorder = of("WorkerRecorder.ts")
const slots = of("WorkerSlots.ts")
const stores = of("Memory.ts")
const state = of("internal/memoryState.ts")
const grants = of("internal/memoryGrants.ts")
const queue = of("internal/memoryDeliveries.ts")

export const mutants: ReadonlyArray<Mutant> = [
  grant(
    "a refresh token of an earlier life counts as one of this life",
    "epoch < grant.epoch || epoch === grant.epoch && grant.status === \"revoked\"",
    "false"
  ),
  grant(
    "a revocation leaves the access tokens",
    "status: \"revoked\", access: AccessTokens.none, codes: []",
    "status: \"revoked\", codes: []"
  ),
  grant(
    "a revocation leaves the refresh token and the codes",
    "{ status: \"revoked\", access: AccessTokens.none, codes: [] }",
    "{ status: \"revoked\", access: AccessTokens.none, refresh: grant.refresh }"
  ),
  grant(
    "a refresh token is believed by its name",
    " || !keys.some((key) => key.isAuthentic(token))",
    ""
  ),
  grant(
    "a repeat has no end",
    " || isOver(DateTime.addDuration(current.issuedAt, within), now)",
    ""
  ),
  grant(
    "a request is repeated without a time for that by a node whose clock is behind",
    "Duration.toMillis(within) === 0 || ",
    ""
  ),
  grant(
    "a repeat is answered whatever it repeats",
    "pairs.find(({ refreshToken }) => shortened(hash(Redacted.value(refreshToken))) === current.hash)",
    "pairs[0]"
  ),
  grant(
    "a repeat needs no Idempotency-Key",
    "Option.isSome(idempotencyKey) ? policy.refreshRetry : policy.refreshRetryWithoutKey",
    "policy.refreshRetry"
  ),
  grant(
    "a code is repeated without an Idempotency-Key",
    "Option.isSome(presented.idempotencyKey) ? policy.refreshRetry : Duration.zero",
    "policy.refreshRetry"
  ),
  tokens(
    "a new access token finds no room",
    "append(from(live, start), added)",
    "count(live) < limit ? append(live, added) : live"
  ),
  tokens("a grant has any number of access tokens", "count(live) + 1 - limit", "0"),
  tokens("an expired access token stays in the grant", "isOver(parse(tokens, start).expiresAt, now)", "false"),
  grant("a new code finds no room", ".slice(-policy.maxCodes)", ".slice(0, policy.maxCodes)"),
  grant("a grant has any number of codes", ".slice(-policy.maxCodes)", ""),
  token(
    "expiry is one moment late",
    "now.epochMillis >= expiresAt.epochMillis",
    "now.epochMillis > expiresAt.epochMillis"
  ),
  grant("a new life keeps the old epoch", "epoch: (before?.epoch ?? 0) + 1,", "epoch: before?.epoch ?? 1,"),
  grant(
    "a code can be used again",
    "if (Option.isSome(code.redeemed)) {",
    "if (Option.isSome(code.redeemed) && false) {"
  ),
  grant("a code never expires", "code.hash === hash && !isOver(code.expiresAt, now)", "code.hash === hash"),
  grant("a used code is not marked", "{ ...one, redeemed }", "one"),
  grant(
    "anyone may exchange a code",
    "if (grant.applicationId !== presented.applicationId) return refuse(\"mismatch\")",
    ""
  ),
  grant(
    "the verifier is not compared",
    "if (Option.getOrNull(presented.challenge) !== Option.getOrNull(code.challenge)) return refuse(\"mismatch\")",
    ""
  ),
  grant("the redirect URI is not compared", "presented.redirectUri.value !== code.redirectUri", "false"),
  grant(
    "anyone may refresh, and a replay by another revokes its line",
    "if (grant.applicationId !== applicationId) return refuse(\"mismatch\")",
    ""
  ),
  grant(
    "a replaced refresh token is accepted",
    "generation < grant.lineStart ? \"superseded\" : \"replaced\"",
    "generation < grant.lineStart ? \"superseded\" : \"current\""
  ),
  grant(
    "a refresh does not replace the refresh token",
    "const generation = grant.generation + 1",
    "const generation = grant.generation"
  ),
  grant(
    "every older refresh token counts as a double send",
    "const isPrevious = name.generation === grant.generation - 1",
    "const isPrevious = true"
  ),
  grant(
    "a replay revokes its line, whatever the policy says",
    "mayBeStolen && policy.replay === \"revoke\"",
    "mayBeStolen"
  ),
  grant("a replay revokes nothing, whatever the policy says", "mayBeStolen && policy.replay === \"revoke\"", "false"),
  grant(
    "a double send revokes the line of a refresh token",
    "return refuseReplay(grant, standing, !sentTwice, policy)",
    "return refuseReplay(grant, standing, true, policy)"
  ),
  grant("a double send revokes the line of a code", " && !isSentTwice(at, now, policy)", ""),
  grant(
    "the line of a replay is not looked at",
    "generation < grant.lineStart ? \"superseded\" : \"replaced\"",
    "\"replaced\""
  ),
  grant("a code revokes a later line", "line === grant.lineStart && !isSentTwice", "!isSentTwice"),
  grant(
    "a replay revokes all lines of the grant",
    "AccessTokens.withoutNewest(grant.access, grant.generation - grant.lineStart + 1)",
    "AccessTokens.none"
  ),
  grant(
    "the end of a line leaves its older access tokens",
    "grant.generation - grant.lineStart + 1)",
    "1)"
  ),
  grant(
    "a line that was ended by a replay can be refreshed",
    "lineStart: grant.generation + 1,\n",
    "refresh: grant.refresh,\n"
  ),
  grant(
    "a refresh token never expires",
    "if (Option.exists(grant.refresh, ({ expiresAt }) => isOver(expiresAt, now))) return refuse(\"expired\")",
    ""
  ),
  access(
    "an access token never expires",
    "Option.isNone(found) || isOver(found.value.expiresAt, now)",
    "Option.isNone(found)"
  ),
  grant(
    "a revocation changes nothing",
    "{ status: \"revoked\", access: AccessTokens.none, codes: [] }",
    "{ refresh: grant.refresh }"
  ),
  oauth(
    "anyone's token revokes",
    "isKnown && grant.applicationId === client.id",
    "isKnown"
  ),
  grant(
    "organizers' revocations notify nobody",
    "grant.role === \"athlete\" || grant.role === \"organizer\"",
    "grant.role === \"athlete\""
  ),
  oauth(
    "a replay is refused, and the revocation is forgotten",
    "Option.toArray(decision.revocation)",
    "[]"
  ),
  oauth(
    "a revocation by the user is decided once, whatever was saved since",
    "if (grant.status === \"active\") yield* grants.save(Grant.revokeByUser(grant, origin))\n    }))",
    "if (grant.status === \"active\") yield* Effect.ignore(grants.save(Grant.revokeByUser(grant, origin)))\n    }))"
  ),
  oauth(
    "a bearer of a suspended application is let in",
    "const access = Option.isSome(found) && found.value.application.state === \"active\"",
    "const access = Option.isSome(found)"
  ),
  oauth(
    "a token of a suspended application is introspected as active",
    "application.state !== \"active\" || Option.exists(audience",
    "application.state === \"ended\" || Option.exists(audience"
  ),
  oauth(
    "a bearer of an earlier epoch is let in",
    "? Access.find(Grant.asOf(found.value), hash, now)",
    "? Access.find(found.value.grant, hash, now)"
  ),
  oauth(
    "a refresh token of an earlier epoch is rotated",
    "const decision = decide(Grant.asOf(found.value))",
    "const decision = decide(found.value.grant)"
  ),
  application(
    "a suspended application proves itself",
    "return found.value.state === \"active\"",
    "return found.value.state !== \"ended\""
  ),
  application("an application that has ended keeps its secrets", "  secrets: []\n", "  secrets: application.secrets\n"),
  application("to revoke all grants changes no epoch", "epoch: application.epoch + 1", "epoch: application.epoch"),
  application(
    "an application that has ended keeps its grants",
    "  ...revokeAll(application),\n  state: \"ended\"",
    "  ...application,\n  version: application.version + 1,\n  state: \"ended\""
  ),
  applications("an application that has ended can be restored", "state !== \"ended\"", "true"),
  applications(
    "an application that ends keeps its subscription",
    "if (Option.isSome(subscription)) yield* subscriptions.remove(",
    "if (false) yield* subscriptions.remove("
  ),
  subscription("a pause is not saved", ": { ...subscription, paused,", ": { ...subscription,"),
  subscription("a pause cannot be undone", "subscription.paused === paused\n", "subscription.paused || !paused\n"),
  registrations(
    "somebody who was erased can be a party",
    "Option.exists(user, (found) => found.role === role)",
    "Option.match(user, { onNone: () => true, onSome: (found) => found.role === role })"
  ),
  oauth(
    "an application sees the tokens of others",
    " || Option.exists(audience, (id) => id !== grant.applicationId)",
    ""
  ),
  secret(
    "an expired client secret is good",
    "Option.isNone(expiresAt) || now.epochMillis < expiresAt.value.epochMillis",
    "true"
  ),
  secret(
    "a second replacement ends the secret that was replaced first",
    "place < 2 * maxLive || present.includes(secret)",
    "place === 0"
  ),
  secret(
    "a second replacement renews the promise of the first",
    "Option.orElse(secret.expiresAt, () => ends)",
    "ends"
  ),
  secret(
    "a fast clock removes a secret that lives on other nodes",
    "place < 2 * maxLive || present.includes(secret)",
    "present.includes(secret)"
  ),
  secret("more than five secrets are live", "present[maxLive - 1]", "present[maxLive]"),
  secret(
    "the current secret can be ended",
    "return Option.isNone(ended.expiresAt)\n",
    "return Option.isNone(ended.expiresAt) && record.secrets.length === 1\n"
  ),
  attempts("only the newest secret signs", "live(signingSecrets, at)", "live(signingSecrets, at).slice(0, 1)"),
  application("localhost.evil.test is loopback", "\\[::1\\])(?::\\d{1,5})?(?:[/?]", "\\[::1\\])(?::\\d{1,5})?(?:[/?.]"),
  application(
    "a redirect URI needs only begin like a registered one",
    "application.redirectUris.includes(uri)",
    "application.redirectUris.some((one) => uri.startsWith(one))"
  ),
  authorization(
    "an unknown scope is granted",
    "if (unknown !== undefined) {",
    "if (false) {"
  ),
  authorization("plain PKCE is accepted", "if (!Option.contains(codeChallengeMethod, \"S256\")) {", "if (false) {"),
  subscription("any 2xx answers a challenge", "if (answer.status !== 200) return", "if (answer.status > 299) return"),
  subscription(
    "more keys beside the challenge are accepted",
    "{ onExcessProperty: \"error\" }",
    "{ onExcessProperty: \"ignore\" }"
  ),
  subscription(
    "any challenge is accepted",
    "answer[\"hub.challenge\"] === challenge",
    "answer[\"hub.challenge\"] !== \"\""
  ),
  subscriptions("an unproven callback is subscribed", "yield* Subscription.validate(answer, challenge)", ""),
  subscriptions(
    "a second subscription is validated before it is refused",
    "if (Option.isSome(yield* store.findByApplication(applicationId))) return yield* new AlreadySubscribed()\n",
    ""
  ),
  subscriptions(
    "anyone may subscribe",
    "if (access.role !== \"platform\") return Either.left(new NotPlatformUser())",
    ""
  ),
  registration("the organizer's applications are not notified", "...Option.toArray(parties.organizerId),", ""),
  registration(
    "a change that changes nothing notifies applications",
    "if (isSame(updates, registration.updates)) return Option.none()",
    ""
  ),
  delivery(
    "a fourth attempt is made",
    "policy.deliveryDelays[attempts.length - 1]",
    "policy.deliveryDelays[attempts.length - 2] ?? policy.deliveryDelays[attempts.length - 1]"
  ),
  delivery("any 2xx acknowledges", "answer.status === 200 ? \"delivered\"", "answer.status < 300 ? \"delivered\""),
  delivery("an answer after 2 s acknowledges", "outcome: late ? \"timeout\" : answer", "outcome: answer"),
  delivery(
    "Retry-After is followed however long it is",
    "onSome: Duration.clamp({ minimum: base, maximum: Duration.times(base, 2) })",
    "onSome: Duration.max(base)"
  ),
  delivery(
    "a failed attempt is forgotten",
    "const attempts = [...delivery.attempts, attempt]",
    "const attempts = delivery.attempts.length === 0 ? [attempt] : [...delivery.attempts.slice(0, -1), attempt]"
  ),
  registration("the sequence of a change does not grow", "sequence: version,", "sequence: 1,"),
  grant(
    "the sequence of a revocation is the generation",
    "sequence: grant.version + 1,",
    "sequence: grant.generation,"
  ),
  attempts("an attempt has another sequence than its event", "sequence: delivery.event.sequence,", "sequence: 1,"),
  event("event_time is in milliseconds", "Math.floor(instant.epochMillis / 1000)", "Math.floor(instant.epochMillis)"),
  event(
    "the keys of updates come in the order of the store",
    "JSON.stringify(fields, keys)",
    "JSON.stringify(fields)"
  ),
  attempts(
    "what is delivered is not recorded",
    "recorder.add(",
    "if (delivery.state === \"delivered\") slots.record(1)\n      else recorder.add("
  ),
  worker(
    "a worker that stops forgets what is in flight",
    "while (!slots.isIdle()) yield* Queue.take(wake)",
    ""
  ),
  attempts("an attempt starts after its lease", ">= claimed.leaseEnds.epochMillis", ">= Infinity"),
  recorder(
    "a batch that fails is lost",
    "batch.length === 1\n            ?",
    "true\n            ? Effect.as(Effect.logWarning(\"lost\", cause), [])\n            : batch.length === 1\n            ?"
  ),
  attempts(
    "a delivery that ends every worker is claimed forever",
    "claims > policy.deliveryClaims &&",
    "claims > Infinity &&"
  ),
  attempts("a delivery is set aside at its first repeat", "claims > policy.deliveryClaims &&", "claims > 1 &&"),
  attempts(
    "a store that fails sets deliveries aside",
    "at.epochMillis - recorder.failedAt() > policy",
    "at.epochMillis > policy"
  ),
  delivery("what is set aside keeps its object waiting", "state: \"set_aside\",", "state: \"pending\","),
  slots(
    "a receiver that hangs is not suspected",
    "else suspectUntil.set(id, DateTime.addDuration(now, suspicion))",
    ""
  ),
  state("a save compares no version", "if ((records.get(key)?.version ?? 0) !== next.version - 1) return false\n", ""),
  state("a save accepts any newer version", "!== next.version - 1", ">= next.version"),
  grants(
    "a grant is saved without its deliveries",
    "        enqueue(outgoing)\n        return true",
    "        return true"
  ),
  grants(
    "a refused save queues its events",
    "if (!compareAndSet(",
    "enqueue(outgoing)\n      if (!compareAndSet("
  ),
  stores(
    "a registration is saved without its deliveries",
    "      enqueue(outgoing)\n      return true",
    "      return true"
  ),
  stores(
    "an application has several subscriptions",
    "if (byApplication(applicationId) !== undefined) return new AlreadySubscribed()\n",
    ""
  ),
  queue("deliveries outlive their subscription", "  pending.delete(queued.delivery.id)\n}", "}"),
  queue("what is paused or suspended is claimed", "    if (isHeld(state, queued.delivery)) continue\n", ""),
  queue("a pause holds nothing back", "subscriptions.get(subscriptionId)?.paused === true || ", ""),
  stores("an application that has ended is listed", "        .filter(({ state }) => state !== \"ended\")\n", ""),
  stores(
    "an identifier is used again",
    "const id = SubscriptionId.make(++lastIds.subscription)",
    "const id = SubscriptionId.make(subscriptions.size + 1)"
  ),
  queue("revoked applications are notified", "grant !== undefined && isActive(state, grant)", "grant !== undefined"),
  state(
    "a grant of an earlier epoch counts as active",
    "status === \"active\" && applications",
    "status === \"active\" || applications"
  ),
  queue(
    "an event is queued once for each user",
    "      for (const { applicationId, id: subscriptionId } of subscriptions.values()) {\n        if (!isConcerned(state, audience, applicationId)) continue",
    "      for (const { applicationId, id: subscriptionId } of [...subscriptions.values()].flatMap((one) =>\n        audience._tag === \"GrantedBy\" ? audience.userIds.map(() => one) : [one]\n      )) {\n        if (!isConcerned(state, audience, applicationId)) continue"
  ),
  queue("later events overtake earlier ones", "if (isFirst) found", "found"),
  queue("a claim ignores leases", "Math.max(dueAt.epochMillis, leaseEnds)", "dueAt.epochMillis"),
  queue("a lease never ends", "onSome: ({ leaseEnds }) => leaseEnds", "onSome: () => Infinity"),
  queue("what is not due is claimed", "Math.max(dueAt.epochMillis, leaseEnds)", "leaseEnds"),
  queue(
    "one subscription may take all",
    "if (count > (request.allowances.get(subscriptionId) ?? request.perSubscription)) return false\n",
    ""
  ),
  queue(
    "the oldest are claimed last",
    "a.delivery.dueAt.epochMillis - b.delivery.dueAt.epochMillis ||",
    "b.delivery.dueAt.epochMillis - a.delivery.dueAt.epochMillis ||"
  ),
  queue(
    "any token settles",
    "!Option.exists(queued.claim, (claim) => claim.token === token)) return []\n          queued.delivery = delivery\n",
    "Option.isNone(queued.claim)) return []\n          queued.delivery = delivery\n"
  ),
  queue(
    "a settlement keeps the claim",
    "          queued.claim = Option.none()\n          queued.claims = 0\n",
    "          queued.claims = 0\n"
  ),
  queue("claims are not counted", "const claims = ++queued.claims", "const claims = 1"),
  queue("a settlement does not start the count of claims again", "          queued.claims = 0\n", ""),
  queue(
    "an old event is delivered again to a new subscription",
    " || !subscriptions.has(stored.subscriptionId)",
    ""
  ),
  queue(
    "the event that the caller has read is delivered again, not the stored one",
    "    again: ({ id }, now) =>\n      Effect.sync(() => {\n        const stored = deliveries.get(id)?.delivery\n",
    "    again: (stored, now) =>\n      Effect.sync(() => {\n"
  )
]
