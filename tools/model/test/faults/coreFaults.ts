/** Mistakes in the rules of the core, and in its stores in memory. */
import { type Fault, type FoundBy, inCore, type Source } from "./Fault.ts"

const rules: FoundBy = { rules: true }
const programs: FoundBy = { programs: true }
const programsAndRules: FoundBy = { programs: true, rules: true }
const laws: FoundBy = { storeLaws: true }
const lawsAndPrograms: FoundBy = { storeLaws: true, programs: true }
const lawsAndRules: FoundBy = { storeLaws: true, rules: true }
const all: FoundBy = { storeLaws: true, programs: true, rules: true }

export const coreFaults: ReadonlyArray<Fault<Source>> = [
  ...inCore("TokenRequest.ts", programsAndRules, {
    "a refresh token of an earlier life counts as one of this life": [
      "epoch < grant.epoch || grant.status === \"revoked\"",
      "false"
    ],
    "a repeat is answered whatever it repeats": [
      ".find(({ refreshToken }) => shortened(hash(Redacted.value(refreshToken))) === current.hash)",
      "[0]"
    ],
    "a code can be used again": ["redeemed)", "redeemed) && false"],
    "a code never expires": ["code.hash === hash && !isOver(code.expiresAt, now)", "code.hash === hash"],
    "a used code is not marked": ["{ ...one, redeemed }", "one"],
    "anyone may exchange a code": ["if (grant.applicationId !== presented.applicationId) return refuse(\"mismatch\")"],
    "the verifier is not compared": [
      "if (Option.getOrNull(presented.challenge) !== Option.getOrNull(code.challenge)) return refuse(\"mismatch\")"
    ],
    "the redirect URI is not compared": ["presented.redirectUri.value !== code.redirectUri", "false"],
    "a replaced refresh token is accepted": [": \"replaced", ": \"current"],
    "a refresh does not replace the refresh token": [
      "generation = grant.generation + 1",
      "generation = grant.generation"
    ]
  }),
  ...inCore("TokenRequests.ts", rules, {
    "a refresh trusts an old copy of the application": ["version === application.version", "true"]
  }),
  ...inCore("Grant.ts", programsAndRules, {
    "a revocation leaves the access tokens": ["\", access: []", "\""],
    "a revocation leaves the refresh token and the codes": [
      "\", access: [], codes: []",
      "\", access: [], refresh: grant.refresh"
    ],
    "a new life keeps the old epoch": ["epoch: (before?.epoch ?? 0) + 1,", "epoch: before?.epoch ?? 1,"],
    "a revocation changes nothing": [
      "status: \"revoked\", access: [], codes: []",
      "refresh: grant.refresh"
    ]
  }),
  ...inCore("TokenRequest.ts", rules, {
    "a refresh token is believed by its name": [" || !isAuthentic"],
    "a repeat has no end": [" || isOver(DateTime.addDuration(current.issuedAt, within), now)"],
    "a request is repeated without a time for that by a node whose clock is behind": [
      "Duration.toMillis(within) === 0 || "
    ],
    "a repeat needs no Idempotency-Key": [
      "Option.isSome(idempotencyKey) ? policy.refreshRetry : policy.refreshRetryWithoutKey",
      "policy.refreshRetry"
    ],
    "a code is repeated without an Idempotency-Key": [
      "Option.isSome(presented.idempotencyKey) ? policy.refreshRetry : Duration.zero",
      "policy.refreshRetry"
    ],
    "anyone may refresh, and a replay by another revokes its line": [
      "if (grant.applicationId !== applicationId) return refuse(\"mismatch\")"
    ],
    "every older refresh token counts as a double send": ["name.generation === grant.generation - 1", "true"],
    "a replay revokes its line, whatever the policy says": [" && policy.replay === \"revoke\""],
    "a replay revokes nothing, whatever the policy says": ["mayBeStolen && policy.replay === \"revoke\"", "false"],
    "a double send revokes the line of a refresh token": ["!sentTwice", "true"],
    "a double send revokes the line of a code": [" && !isSentTwice(at, now, policy)"],
    "the line of a replay is not looked at": ["generation < grant.lineStart ? \"superseded\" : "],
    "a code revokes a later line": ["line === grant.lineStart && !isSentTwice", "!isSentTwice"],
    "a refresh token never expires": [
      "if (Option.exists(grant.refresh, ({ expiresAt }) => isOver(expiresAt, now))) return refuse(\"expired\")"
    ]
  }),
  ...inCore("Grant.ts", rules, {
    "a new code finds no room": [".slice(-policy.maxCodes)", ".slice(0, policy.maxCodes)"],
    "a grant has any number of codes": [".slice(-policy.maxCodes)"],
    "a replay revokes all lines of the grant": [
      "Arr.dropRight(grant.access, grant.generation - grant.lineStart + 1)",
      "[]"
    ],
    "the end of a line leaves its older access tokens": ["grant.generation - grant.lineStart + 1)", "1)"],
    "a line that was ended by a replay can be refreshed": ["lineStart: grant.generation + 1", "refresh: grant.refresh"],
    "organizers' revocations notify nobody": [" || grant.role === \"organizer\""]
  }),
  ...inCore("TokenRequest.ts", rules, {
    "a new access token finds no room": [".slice(-policy.maxAccessTokens)", ".slice(0, policy.maxAccessTokens)"],
    "a grant has any number of access tokens": [".slice(-policy.maxAccessTokens)"]
  }),
  ...inCore("Grant.ts", rules, {
    "an expired access token stays in the grant": [
      "Arr.dropWhile(access, ({ expiresAt }) => isOver(expiresAt, now))",
      "access"
    ],
    "an expired access token leaves the grant before older ones": [
      "Arr.dropWhile(access, ({ expiresAt }) => ",
      "access.filter(({ expiresAt }) => !"
    ]
  }),
  ...inCore("Token.ts", programsAndRules, {
    "expiry is one moment late": ["= expiresAt", " expiresAt"]
  }),
  ...inCore("Grant.ts", programsAndRules, {
    "an access token never expires": [" || isOver(found.expiresAt, now)"]
  }),
  ...inCore("OAuth.ts", rules, {
    "anyone's token revokes": ["isKnown && grant.applicationId === client.id", "isKnown"],
    "a revocation by the user is decided once, whatever was saved since": [
      "grants.save(Grant.revokeByUser(grant, origin",
      "Effect.ignore(grants.save(Grant.revokeByUser(grant, origin)"
    ],
    "an application sees the tokens of others": [" || Option.exists(audience, (id) => id !== grant.applicationId)"]
  }),
  ...inCore("TokenRequests.ts", programsAndRules, {
    "a replay is refused, and the revocation is forgotten": ["Option.toArray(decision.revocation)", "[]"]
  }),
  ...inCore("OAuth.ts", programsAndRules, {
    "a bearer of a suspended application is let in": [" || found.value.application.state !== \"active\""],
    "a token of a suspended application is introspected as active": [
      "application.state !== \"active\" || Option",
      "application.state === \"ended\" || Option"
    ],
    "a bearer of an earlier epoch is let in": ["Grant.asOf(found.value),", "found.value.grant,"]
  }),
  ...inCore("TokenRequests.ts", programsAndRules, {
    "a refresh token of an earlier epoch is rotated": ["rotate(asOf(found)", "rotate(found.grant"]
  }),
  ...inCore("Application.ts", programsAndRules, {
    "a suspended application proves itself": ["=== \"active", "!== \"ended"],
    "to revoke all grants changes no epoch": ["epoch: application.epoch + 1", "epoch: application.epoch"]
  }),
  ...inCore("Application.ts", rules, {
    "an application that has ended keeps its secrets": ["  secrets: []\n", "  secrets: application.secrets\n"],
    "localhost.evil.test is loopback": ["\\[::1\\])(?::\\d{1,5})?(?:[/?]", "\\[::1\\])(?::\\d{1,5})?(?:[/?.]"],
    "a redirect URI needs only begin like a registered one": ["includes(uri", "some((one) => uri.startsWith(one)"]
  }),
  ...inCore("Application.ts", programs, {
    "an application that has ended keeps its grants": [
      "revokeAll(application)",
      "application,\n  version: application.version + 1"
    ]
  }),
  ...inCore("Applications.ts", programsAndRules, {
    "an application that has ended can be restored": ["state !== \"ended\"", "true"],
    "an application that ends keeps its subscription": ["Option.isSome(subscription)", "false"]
  }),
  ...inCore("Subscription.ts", programsAndRules, {
    "a pause is not saved": [": { ...subscription, paused, pausedByOperator,", ": { ...subscription,"],
    "a pause cannot be undone": ["marked(subscription, false, false, now)", "subscription"],
    "any challenge is accepted": ["answer[\"hub.challenge\"] === challenge", "answer[\"hub.challenge\"] !== \"\""]
  }),
  ...inCore("Memory.ts", laws, {
    "an erasure forgets one text": [
      "updates: emptyUpdates }, attempts",
      "updates: { ...delivery.event.updates, comment: \"\" } }, attempts"
    ],
    "an erasure loses its last event": ["{ outgoing } of revocations)", "{ outgoing } of revocations.slice(0, -1))"]
  }),
  ...inCore("Memory.ts", laws, {
    "an erasure leaves the attempts": [", attempts: [] }", " }"],
    "an erasure forgets deliveries that have ended": ["of deliveries.values()", "of state.pending.values()"],
    "an owner of applications is erased": [
      "if ([...applications.values()].some((one) => one.ownerId === userId && one.state !== \"ended\")) return false\n"
    ],
    "an erased user registers an application": [
      "if (erased.has(application.ownerId)) return new UserErased({ userId: application.ownerId })\n"
    ],
    "an erased user is given an application": [" || (next.state !== \"ended\" && erased.has(next.ownerId))"],
    "an erased user gets a grant": ["if (grant.version === 1 && erased.has(grant.userId)) return false\n"]
  }),
  ...inCore("OAuth.ts", rules, {
    "an erased user can consent": ["(yield* persons.isErased(user.id))", "false"]
  }),
  ...inCore("PersonalData.ts", rules, {
    "an erasure forgets the registrations of the server": ["registrationIds })", "registrationIds: [] })"],
    "an erasure has no events": ["revokeByUser(grant, origin))", "({ ...revokeByUser(grant, origin), outgoing: [] }))"]
  }),
  ...inCore("Registrations.ts", programsAndRules, {
    "somebody who was erased can be a party": [
      "exists(user, (found) => found.role === role",
      "match(user, { onNone: () => true, onSome: (found) => found.role === role }"
    ]
  }),
  ...inCore("Authorization.ts", rules, {
    "an unknown scope is granted": ["if (unknown !== undefined) {", "if (false) {"],
    "plain PKCE is accepted": ["if (!Option.contains(codeChallengeMethod, \"S256\")) {", "if (false) {"]
  }),
  ...inCore("Subscription.ts", rules, {
    "any 2xx answers a challenge": ["if (answer.status !== 200) return", "if (answer.status > 299) return"],
    "more keys beside the challenge are accepted": ["error", "ignore"]
  }),
  ...inCore("Subscriptions.ts", programsAndRules, {
    "an unproven callback is subscribed": ["yield* Subscription.validate(answer, challenge)"],
    "a second subscription is validated before it is refused": [
      "if (Option.isSome(yield* store.findByApplication(applicationId))) return yield* new AlreadySubscribed()\n"
    ]
  }),
  ...inCore("Subscriptions.ts", rules, {
    "anyone may subscribe": ["if (access.role !== \"platform\") return Either.left(new NotPlatformUser())"]
  }),
  ...inCore("Registration.ts", rules, {
    "the organizer's applications are not notified": ["...Option.toArray(parties.organizerId),"],
    "a change that changes nothing notifies applications": [
      "if (isSame(updates, registration.updates)) return Option.none()"
    ]
  }),
  ...inCore("Delivery.ts", rules, {
    "a fourth attempt is made": [
      "attempts.length - 1]",
      "attempts.length - 2] ?? policy.deliveryDelays[attempts.length - 1]"
    ],
    "any 2xx acknowledges": ["answer.status === 200 ? \"delivered\"", "answer.status < 300 ? \"delivered\""],
    "an answer after 2 s acknowledges": ["outcome = late ? \"timeout\" : answer", "outcome = answer"],
    "Retry-After is followed however long it is": [
      "clamp({ minimum: base, maximum: Duration.times(base, 2) }",
      "max(base"
    ],
    "a failed attempt is forgotten": [
      "[...delivery.attempts",
      "delivery.attempts.length === 0 ? [attempt] : [...delivery.attempts.slice(0, -1)"
    ],
    "what is set aside keeps its object waiting": ["state: \"set_aside\",", "state: \"pending\","]
  }),
  ...inCore("Event.ts", programsAndRules, {
    "event_time is in milliseconds": ["Math.floor(instant.epochMillis / 1000)", "Math.floor(instant.epochMillis)"]
  }),
  ...inCore("Event.ts", rules, {
    "the keys of updates come in the order of the store": ["JSON.stringify(fields, keys)", "JSON.stringify(fields)"]
  }),
  ...inCore("internal/attempts.ts", programsAndRules, {
    "what is delivered is not recorded": [
      "recorder.add",
      "if (delivery.state === \"delivered\") slots.record(1)\n      else recorder.add"
    ]
  }),
  ...inCore("Worker.ts", rules, {
    "a worker that stops forgets what is in flight": ["while (!slots.isIdle()) yield* Queue.take(wake)"]
  }),
  ...inCore("internal/attempts.ts", rules, {
    "an attempt starts after its lease": [">= claimed.leaseEnds.epochMillis", ">= Infinity"],
    "a delivery that ends every worker is claimed forever": ["policy.deliveryClaims &", "Infinity &"],
    "a delivery is set aside at its first repeat": ["claims > policy.deliveryClaims &&", "claims > 1 &&"],
    "a store that fails sets deliveries aside": ["- recorder.failedAt() "]
  }),
  ...inCore("Worker.ts", rules, {
    "a batch that fails is lost": [
      "batch.length =",
      "true\n            ? Effect.as(Effect.logWarning(\"lost\", cause), [])\n            : batch.length ="
    ]
  }),
  ...inCore("internal/attempts.ts", rules, {
    "a receiver that hangs is not suspected": ["else suspectUntil.set(id, DateTime.addDuration(now, suspicion))"]
  }),
  ...inCore("internal/memoryState.ts", lawsAndPrograms, {
    "a save compares no version": ["if ((records.get(key)?.version ?? 0) !== next.version - 1) return false\n"]
  }),
  ...inCore("internal/memoryState.ts", laws, {
    "a save accepts any newer version": ["!== next.version - 1", ">= next.version"]
  }),
  ...inCore("Memory.ts", all, {
    "a grant is saved without its deliveries": ["ofApplication)\n  enqueue(outgoing)", "ofApplication)"],
    "a refused save queues its events": ["if (!compareAndSet(", "enqueue(outgoing)\n      if (!compareAndSet("],
    "a registration is saved without its deliveries": [
      "next)) return false\n      enqueue(outgoing)",
      "next)) return false"
    ]
  }),
  ...inCore("Memory.ts", lawsAndRules, {
    "an application has several subscriptions": [
      "if (subscriptionOf(state, applicationId) !== undefined) return new AlreadySubscribed()\n        const id",
      "const id"
    ],
    "an identifier is used again": ["++lastIds.subscription", "subscriptions.size + 1"]
  }),
  ...inCore("internal/memoryDeliveries.ts", lawsAndRules, {
    "deliveries outlive their subscription": ["  pending.delete(queued.delivery.id)\n}", "}"],
    "later events overtake earlier ones": ["if (isFirst) found", "found"],
    "a claim ignores leases": ["Math.max(passed(dueAt.epochMillis), passed(leaseEnds))", "passed(dueAt.epochMillis)"],
    "a lease never ends": ["onSome: ({ leaseEnds }) => leaseEnds", "onSome: () => Infinity"],
    "what is not due is claimed": ["Math.max(passed(dueAt.epochMillis), passed(leaseEnds))", "passed(leaseEnds)"],
    "one subscription may take all": [
      "if (count > (request.allowances.get(subscriptionId) ?? request.perSubscription)) return false\n"
    ],
    "a settlement keeps the claim": ["claim = Option.none()\n          queued.claims ", "claims "],
    "claims are not counted": ["const claims = ++queued.claims", "const claims = 1"],
    "a settlement does not start the count of claims again": ["          queued.claims = 0\n"],
    "an old event is delivered again to a new subscription": [" || !subscriptions.has(stored.subscriptionId)"],
    "the event that the caller has read is delivered again, not the stored one": [
      "{ id }, now, only) =>\n      Effect.sync(() => {\n        const { delivery: stored, isLogged } = deliveries.get(id) ?? {}",
      "stored, now, only) =>\n      Effect.sync(() => {\n        const isLogged = deliveries.get(stored.id)?.isLogged"
    ],
    "each redelivery of many delivers the repeats of the previous one again": [
      "        if (only !== undefined && !isLogged && stored.state === \"delivered\") return Option.none()\n"
    ]
  }),
  ...inCore("internal/memoryDeliveries.ts", lawsAndPrograms, {
    "what is paused or suspended is claimed": ["    if (isHeld(state, queued.delivery)) continue\n"]
  }),
  ...inCore("internal/memoryDeliveries.ts", laws, {
    "a pause holds nothing back": ["subscriptions.get(subscriptionId)?.paused === true || "],
    "the oldest are claimed last": ["a.delivery.dueAt.epochMillis - b", "b.delivery.dueAt.epochMillis - a"],
    "any token settles": [
      "!Option.exists(queued.claim, (claim) => claim.token === token)) return []\n          queued.delivery = delivery",
      "Option.isNone(queued.claim)) return []\n          queued.delivery = delivery"
    ]
  }),
  ...inCore("Memory.ts", laws, {
    "an application that has ended is listed": ["        .filter(({ state }) => state !== \"ended\")\n"]
  }),
  ...inCore("internal/memoryDeliveries.ts", all, {
    "revoked applications are notified": ["grant !== undefined && isActive(state, grant)", "grant !== undefined"],
    "an event is queued once for each user": [
      "subscriptions.values(",
      "[...subscriptions.values()].flatMap((one) =>\n        audience._tag === \"GrantedBy\" ? audience.userIds.map(() => one) : [one]\n      "
    ]
  }),
  ...inCore("internal/memoryState.ts", all, {
    "a grant of an earlier epoch counts as active": ["&&", "||"]
  }),
  ...inCore("ApplicationSecret.ts", rules, {
    "an expired client secret is good": [
      "Option.isNone(expiresAt) || now.epochMillis < expiresAt.value.epochMillis",
      "true"
    ],
    "a second replacement ends the secret that was replaced first": [
      "place < 2 * maxLive || present.includes(secret)",
      "place === 0"
    ],
    "a second replacement renews the promise of the first": ["Option.orElse(secret.expiresAt, () => ends)", "ends"],
    "a fast clock removes a secret that lives on other nodes": [
      "place < 2 * maxLive || present.includes(secret)",
      "present.includes(secret)"
    ],
    "more than five secrets are live": ["present[maxLive - 1]", "present[maxLive]"],
    "the current secret can be ended": [
      "return Option.isNone(ended.expiresAt)\n",
      "return Option.isNone(ended.expiresAt) && record.secrets.length === 1\n"
    ]
  }),
  ...inCore("internal/attempts.ts", rules, {
    "only the newest secret signs": ["live(signingSecrets, at)", "live(signingSecrets, at).slice(0, 1)"],
    "an attempt has another sequence than its event": ["sequence: delivery.event.sequence,", "sequence: 1,"]
  }),
  ...inCore("Registration.ts", rules, {
    "the sequence of a change does not grow": ["sequence: version,", "sequence: 1,"]
  }),
  ...inCore("Grant.ts", rules, {
    "the sequence of a revocation is the generation": ["sequence: grant.version + 1,", "sequence: grant.generation,"]
  }),
  ...inCore("Import.ts", laws, {
    "an import undoes the use of a grant": ["isUntouched(present.value) && isNews", "isNews"],
    "an import brings a revoked grant back": ["status === \"active\" && epoch === 1", "epoch === 1"],
    "an import keeps a grant that the former server has revoked": [
      "given.status === \"revoked\" || isLater",
      "isLater"
    ],
    "an older export counts as a later one": [
      "return !isSame && issued(given).epochMillis >= issued(present).epochMillis",
      "return !isSame"
    ]
  }),
  ...inCore("Client.ts", laws, {
    "an imported secret keeps its foreign hash": ["yield* applications.save(replaced)"],
    "of parallel first uses of a secret, each has a version of its own": [
      "if (Option.isNone(outdated)) return yield* Application.authenticate(present, hash, now)",
      "if (Option.isNone(outdated)) { const one = Option.getOrThrow(present); return { ...one, version: one.version + 1 } }"
    ],
    "any secret is good for a foreign hash": ["if (!(yield* hashes.value.matches(secret.hash, client))) continue"]
  }),
  ...inCore("Memory.ts", laws, {
    "an erasure leaves the imported tokens": [
      "if (token.userId === userId) importedTokens.delete(hash)",
      "void [hash, token]"
    ]
  }),
  ...inCore("Memory.ts", laws, {
    "a removed subscription is imported again": ["importedSubscriptions.has(id) || "],
    "an imported identifier is given again": ["        passed(\"application\", id)\n"],
    "an imported application is imported over a changed one": [
      "        if (applications.has(id)) return Effect.succeed(false)\n"
    ]
  })
]
