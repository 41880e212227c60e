/** Handlers of the operator API: each calls a service of the core and converts its refusals. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import {
  type Application,
  type ApplicationNotFound,
  ApplicationStore,
  type InvalidApplication
} from "@startlist/core/Application"
import type { SecretRefused } from "@startlist/core/ApplicationSecret"
import { Applications } from "@startlist/core/Applications"
import { Deliveries, maxCancelled } from "@startlist/core/Deliveries"
import type { Delivery, DeliveryId } from "@startlist/core/Delivery"
import { OAuth } from "@startlist/core/OAuth"
import { PersonalData } from "@startlist/core/PersonalData"
import { emptyUpdates, type InvalidParty } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { StoreError } from "@startlist/core/Store"
import type { Subscription, SubscriptionNotFound } from "@startlist/core/Subscription"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { type UserId, UserStore } from "@startlist/core/User"
import { type Account, AccountStore } from "../accounts/AccountStore.ts"
import { HttpConfig } from "@startlist/http/HttpConfig"
import * as AuditLog from "../data/AuditLog.ts"
import { Backup } from "../data/Backup.ts"
import { rootMessage } from "../telemetry/Log.ts"
import { Registrar } from "../accounts/LocalAccounts.ts"
import { AccountErasure } from "../accounts/AccountErasure.ts"
import { Api } from "./Api.ts"
import * as Refusal from "./Refusal.ts"
import * as Wire from "./Wire.ts"

const orUnavailable = { StoreError: () => Effect.fail(Refusal.unavailable) }

const noApplication = { ApplicationNotFound: () => Effect.fail(Refusal.notFound("Application", "client_id")) }

const badApplication = {
  InvalidApplication: ({ field, message }: InvalidApplication) =>
    Effect.fail(Refusal.unprocessable("Application", field, message))
}

const noRegistration = { RegistrationNotFound: () => Effect.fail(Refusal.notFound("Registration", "id")) }

const noDelivery = { DeliveryNotFound: () => Effect.fail(Refusal.notFound("Delivery", "id")) }

const noUser = Refusal.notFound("User", "id")

const showAccount = ({ disabled, user }: Account) => Wire.showUser(user, disabled)

const users = HttpApiBuilder.group(Api, "users", (handlers) =>
  Effect.gen(function*() {
    const registrar = yield* Registrar
    const accounts = yield* AccountStore
    const store = yield* UserStore
    const audit = yield* AuditLog.AuditLog
    const erasure = yield* AccountErasure
    const personalData = yield* PersonalData
    const oauth = yield* OAuth
    const orElseText = Option.getOrElse(() => "")
    const find = (id: Parameters<typeof store.find>[0]) =>
      Effect.flatMap(
        Effect.catchTags(store.find(id), orUnavailable),
        Option.match({ onNone: () => Effect.fail(noUser), onSome: Effect.succeed })
      )
    const show = (id: UserId) =>
      Effect.flatMap(
        Effect.catchTags(accounts.find(id), orUnavailable),
        Option.match({ onNone: () => Effect.fail(noUser), onSome: (account) => Effect.succeed(showAccount(account)) })
      )
    const setDisabled = (id: UserId, disabled: boolean) =>
      Effect.zipRight(Effect.catchTags(accounts.setDisabled(id, disabled), orUnavailable), show(id))
    const exportOf = (id: UserId) =>
      Effect.gen(function*() {
        const user = yield* show(id)
        const sessions = yield* accounts.listSessions(id)
        const stored = yield* personalData.export(id)
        const entries: Array<AuditLog.AuditEntry> = []
        let after = Option.none<number>()
        do {
          const page = yield* audit.list({ ...AuditLog.everything, userId: Option.some(id), after, limit: 500 })
          entries.push(...page)
          after = page.length === 500 ? Option.fromNullable(page.at(-1)?.id) : Option.none()
        } while (Option.isSome(after))
        return {
          user,
          sessions: sessions.map(({ seenAt, startedAt }) => ({
            started_at: DateTime.formatIso(startedAt),
            seen_at: DateTime.formatIso(seenAt)
          })),
          grants: stored.grants.map(({ application, grant }) => ({
            client_id: application.id,
            application: application.name,
            scope: grant.scope.join(" "),
            granted_at: DateTime.formatIso(grant.grantedAt)
          })),
          registrations: stored.registrations.map(Wire.showRegistration),
          audit: entries.map(Wire.showAudit)
        }
      }).pipe(Effect.catchTags(orUnavailable))
    return handlers
      .handle("createUser", ({ payload: { email, first_name, last_name, password, role } }) =>
        registrar.register(
          { role, email, firstName: orElseText(first_name), lastName: orElseText(last_name) },
          password
        ).pipe(
          Effect.map((user) => Wire.showUser(user)),
          Effect.catchTags({
            ...orUnavailable,
            EmailTaken: () =>
              Effect.fail(Refusal.conflict("User", "email", "taken", "another user has this e-mail address"))
          })
        ))
      .handle("findUsers", ({ urlParams: { after, email, limit } }) =>
        Effect.gen(function*() {
          if (Option.isSome(email)) {
            return { users: Option.toArray(yield* accounts.findByEmail(email.value)).map(showAccount) }
          }
          const page = yield* accounts.list({ after, limit })
          return { users: page.map(showAccount), ...Wire.next(page.map(({ user }) => user), limit) }
        }).pipe(Effect.catchTags(orUnavailable)))
      .handle("getUser", ({ path }) => show(path.id))
      .handle("disableUser", ({ path }) => setDisabled(path.id, true))
      .handle("enableUser", ({ path }) => setDisabled(path.id, false))
      .handle("endSessions", ({ path }) =>
        Effect.zipRight(show(path.id), Effect.asVoid(Effect.catchTags(accounts.endSessions(path.id), orUnavailable))))
      .handle("resetPassword", ({ path }) =>
        Effect.flatMap(
          Effect.catchTags(registrar.makeReset(path.id), orUnavailable),
          Option.match({
            onNone: () =>
              Effect.fail(noUser),
            onSome: ({ expiresAt, token }) =>
              Effect.map(HttpConfig, ({ authUrl }) => ({
                url: `${authUrl}/reset-password?token=${Redacted.value(token)}`,
                expires_at: DateTime.formatIso(expiresAt)
              }))
          })
        ))
      .handle("exportUser", ({ path }) =>
        exportOf(path.id))
      .handle("eraseUser", ({ path }) =>
        Effect.catchTags(erasure.erase(path.id), {
          ...orUnavailable,
          UserNotFound: () => Effect.fail(noUser),
          OwnsApplications: () =>
            Effect.fail(Refusal.conflict(
              "User",
              "id",
              "owns_applications",
              "the user owns applications: end them, or give them another owner first"
            ))
        }))
      .handle("revokeForUser", ({ path, payload, request }) =>
        Effect.gen(function*() {
          yield* find(path.id)
          yield* oauth.revokeByUser(payload.client_id, path.id)
          yield* audit.append({
            at: yield* DateTime.now,
            action: "revocation",
            actor: { type: "user", id: path.id },
            subject: { type: "application", id: payload.client_id },
            address: orElseText(request.remoteAddress),
            outcome: "success",
            detail: "by an operator, on behalf of the user"
          })
        }).pipe(Effect.catchTags({
          ...orUnavailable,
          GrantNotFound: () => Effect.fail(Refusal.notFound("Grant", "client_id"))
        })))
  }))

const refusedSecret = {
  ...orUnavailable,
  ...noApplication,
  SecretRefused: ({ message, reason }: SecretRefused) =>
    reason === "unknown"
      ? Effect.fail(Refusal.notFound("Secret", "number"))
      : Effect.fail(Refusal.conflict("Secret", "number", reason, message))
}

const rotationOf = (payload: typeof Wire.SecretRequest.Type | null) => ({
  overlap: payload === null ? undefined : Option.getOrUndefined(Option.map(payload.overlap_seconds, Duration.seconds))
})

const applications = HttpApiBuilder.group(Api, "applications", (handlers) =>
  Effect.gen(function*() {
    const service = yield* Applications
    const store = yield* ApplicationStore
    const showing = (found: Effect.Effect<Application, ApplicationNotFound | StoreError>) =>
      Effect.catchTags(Effect.map(found, Wire.showApplication), { ...orUnavailable, ...noApplication })
    return handlers
      .handle("createApplication", ({ payload: { name, owner_id, redirect_uris, require_pkce, ...links } }) =>
        service.create(owner_id, {
          name,
          redirectUris: redirect_uris,
          requirePkce: Option.getOrElse(require_pkce, () =>
            false),
          links: Wire.readLinks(links)
        }).pipe(
          Effect.map(({ application, secret, signingSecret }) => ({
            ...Wire.showApplication(application),
            client_secret: Wire.reveal(secret),
            signing_secret: Wire.reveal(signingSecret)
          })),
          // Only a given secret can belong to another application.
          Effect.catchTags({ ...orUnavailable, ...badApplication, Conflict: Effect.die })
        ))
      .handle("listApplications", ({ urlParams: { after, limit } }) =>
        store.list({ owner: Option.none(), after, limit }).pipe(
          Effect.map((page) => ({
            applications: page.map(Wire.showApplication),
            ...Wire.next(page, limit)
          })),
          Effect.catchTags(orUnavailable)
        ))
      .handle("getApplication", ({ path }) =>
        service.find(path.client_id).pipe(
          Effect.map(Wire.showApplication),
          Effect.catchTags({ ...orUnavailable, ...noApplication })
        ))
      .handle("changeApplication", ({ path, payload: { name, owner_id, redirect_uris, require_pkce, ...links } }) =>
        service.change(path.client_id, {
          ...(owner_id === undefined ? {} : { ownerId: owner_id }),
          links: Wire.readLinks(links),
          ...(name === undefined ? {} : { name }),
          ...(redirect_uris === undefined ? {} : { redirectUris: redirect_uris }),
          ...(require_pkce === undefined ? {} : { requirePkce: require_pkce })
        }).pipe(
          Effect.map(Wire.showApplication),
          Effect.catchTags({ ...orUnavailable, ...noApplication, ...badApplication })
        ))
      .handle("suspendApplication", ({ path }) =>
        showing(service.suspend(path.client_id)))
      .handle("restoreApplication", ({ path }) =>
        showing(service.restore(path.client_id)))
      .handle("revokeAllGrants", ({ path }) =>
        Effect.asVoid(showing(service.revokeAll(path.client_id))))
      .handle(
        "endApplication",
        ({ path }) =>
          Effect.catchTags(service.end(path.client_id), { ...orUnavailable, ...noApplication })
      )
      .handle("rotateSecret", ({ path, payload }) =>
        service.rotateSecret(path.client_id, rotationOf(payload)).pipe(
          Effect.map(({ application, secret }) => ({
            client_secret: Wire.reveal(secret),
            number: application.secrets[0]?.number ?? 0
          })),
          Effect.catchTags(refusedSecret)
        ))
      .handle("listSecrets", ({ path }) =>
        Effect.gen(function*() {
          const { secrets } = yield* service.find(path.client_id)
          const signing = yield* service.signingSecrets(path.client_id)
          return Wire.showSecretList(secrets, signing.secrets, yield* DateTime.now)
        }).pipe(Effect.catchTags({ ...orUnavailable, ...noApplication })))
      .handle(
        "endSecret",
        ({ path }) =>
          Effect.catchTags(Effect.asVoid(service.endSecret(path.client_id, path.number)), refusedSecret)
      )
      .handle("showSigningSecrets", ({ path }) =>
        Effect.zipWith(service.signingSecrets(path.client_id), DateTime.now, Wire.showSigningSecrets).pipe(
          Effect.catchTags({ ...orUnavailable, ...noApplication })
        ))
      .handle("rotateSigningSecret", ({ path, payload }) =>
        Effect.zipWith(
          service.rotateSigningSecret(path.client_id, rotationOf(payload)),
          DateTime.now,
          Wire.showSigningSecrets
        ).pipe(Effect.catchTags(refusedSecret)))
      .handle("endSigningSecret", ({ path }) =>
        Effect.catchTags(Effect.asVoid(service.endSigningSecret(path.client_id, path.number)), refusedSecret))
  }))

const noSubscription = { SubscriptionNotFound: () => Effect.fail(Refusal.notFound("Subscription", "client_id")) }

const subscriptions = HttpApiBuilder.group(Api, "subscriptions", (handlers) =>
  Effect.gen(function*() {
    const service = yield* Subscriptions
    const showing = (found: Effect.Effect<Subscription, SubscriptionNotFound | StoreError>) =>
      Effect.catchTags(Effect.map(found, Wire.showSubscription), { ...orUnavailable, ...noSubscription })
    return handlers
      .handle("listSubscriptions", ({ urlParams: { after, limit } }) =>
        service.list({ after, limit }).pipe(
          Effect.map((page) => ({ subscriptions: page.map(Wire.showSubscription), ...Wire.next(page, limit) })),
          Effect.catchTags(orUnavailable)
        ))
      .handle("pauseSubscription", ({ path }) => showing(service.pause(path.client_id)))
      .handle("resumeSubscription", ({ path }) => showing(service.resume(path.client_id)))
      .handle(
        "endSubscription",
        ({ path }) =>
          Effect.catchTags(service.end(path.client_id, Option.none()), { ...orUnavailable, ...noSubscription })
      )
  }))

const registrations = HttpApiBuilder.group(Api, "registrations", (handlers) =>
  Effect.gen(function*() {
    const service = yield* Registrations
    return handlers
      .handle(
        "createRegistration",
        ({ payload: { athlete_id, club_id, organizer_id, platform_user_id, ...updates } }) =>
          service.create({
            parties: {
              athleteId: athlete_id,
              organizerId: organizer_id,
              clubId: club_id,
              platformUserId: platform_user_id
            },
            updates: { ...emptyUpdates, ...updates }
          }).pipe(
            Effect.map(Wire.showRegistration),
            Effect.catchTags({
              ...orUnavailable,
              InvalidParty: ({ field, message }: InvalidParty) =>
                Effect.fail(Refusal.unprocessable("Registration", field, message))
            })
          )
      )
      .handle("getRegistration", ({ path }) =>
        service.find(path.id).pipe(
          Effect.map(Wire.showRegistration),
          Effect.catchTags({ ...orUnavailable, ...noRegistration })
        ))
      .handle("changeRegistration", ({ path, payload }) =>
        service.change(path.id, payload).pipe(
          Effect.map(Wire.showRegistration),
          Effect.catchTags({ ...orUnavailable, ...noRegistration })
        ))
  }))

const deliveries = HttpApiBuilder.group(Api, "deliveries", (handlers) =>
  Effect.gen(function*() {
    const service = yield* Deliveries
    const showWith = (repeats: ReadonlyMap<DeliveryId, Delivery>) => (delivery: Delivery) =>
      Wire.showDelivery(delivery, repeats.get(delivery.id))
    return handlers
      .handle("listDeliveries", ({ urlParams: { after, client_id, limit, state } }) =>
        service.list({ applicationId: client_id, state, after, limit }).pipe(
          Effect.flatMap((page) =>
            Effect.map(
              service.repeats(page),
              (repeats) => ({ deliveries: page.map(showWith(repeats)), ...Wire.next(page, limit) })
            )
          ),
          Effect.catchTags(orUnavailable)
        ))
      .handle("getDelivery", ({ path }) =>
        service.find(path.id).pipe(
          Effect.flatMap((found) =>
            Effect.map(service.repeats([found]), (repeats) =>
              showWith(repeats)(found))
          ),
          Effect.catchTags({ ...orUnavailable, ...noDelivery })
        ))
      .handle("cancelDeliveries", ({ payload }) =>
        service.cancelPending(payload.client_id).pipe(
          Effect.map((cancelled) => ({ cancelled, more: cancelled === maxCancelled })),
          Effect.catchTags(orUnavailable)
        ))
      .handle("redeliverMany", ({ payload: { after, all, client_id, since, state, until } }) =>
        Effect.gen(function*() {
          const now = DateTime.add(yield* DateTime.now, { millis: 1 })
          const wanted = Option.getOrElse(after, () => ({
            after: undefined,
            until: DateTime.min(now, Option.getOrElse(until, () => now))
          }))
          const { next, ...counts } = yield* service.redeliverMany({
            state: Option.some(state),
            applicationId: client_id,
            after: Option.fromNullable(wanted.after),
            since: Option.getOrElse(since, () => DateTime.unsafeMake(0)),
            until: wanted.until,
            only: all ? "unrepeated" : "latest"
          })
          return { ...counts, next: Option.map(next, (after) => ({ after, until: wanted.until })) }
        }).pipe(Effect.catchTags(orUnavailable)))
      .handle("redeliver", ({ path }) =>
        service.redeliver(path.id).pipe(
          Effect.map((delivery) => Wire.showDelivery(delivery)),
          Effect.catchTags({
            ...orUnavailable,
            ...noDelivery,
            SubscriptionNotFound: () =>
              Effect.fail(
                Refusal.conflict(
                  "Delivery",
                  "subscription_id",
                  "subscription_gone",
                  "its subscription no longer exists, so the event cannot be delivered again"
                )
              )
          })
        ))
  }))

const audit = HttpApiBuilder.group(
  Api,
  "audit",
  (handlers) =>
    Effect.map(
      AuditLog.AuditLog,
      (log) =>
        handlers.handle("listAudit", ({ urlParams: { client_id, user_id, ...filter } }) =>
          log.list({ ...filter, applicationId: client_id, userId: user_id }).pipe(
            Effect.map((page) => ({ entries: page.map(Wire.showAudit), ...Wire.next(page, filter.limit) })),
            Effect.catchTags(orUnavailable)
          ))
    )
)

const installation = HttpApiBuilder.group(
  Api,
  "installation",
  (handlers) =>
    Effect.map(
      Backup,
      (backup) =>
        handlers.handle("backUp", () =>
          Effect.map(backup.make, (folder) => ({ folder })).pipe(Effect.catchTags({
            NotEmbedded: () =>
              Effect.fail(
                Refusal.conflict("Backup", "", "not_embedded", "the data is in PostgreSQL: use pg_dump")
              ),
            BackupFailed: ({ cause }) =>
              Effect.zipRight(
                Effect.logError("the backup could not be written", cause),
                Effect.fail(
                  Refusal.conflict("Backup", "", "not_written", `the backup cannot be written: ${rootMessage(cause)}`)
                )
              )
          })))
    )
)

/** Handlers for every endpoint of `Api`. */
export const layer = Layer.mergeAll(users, applications, subscriptions, registrations, deliveries, audit, installation)
