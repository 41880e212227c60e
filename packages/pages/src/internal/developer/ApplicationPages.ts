/** `/developer/applications`: a platform user's applications, their settings and secrets. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Application, Settings } from "@startlist/core/Application"
import { Applications, type Created } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { redirect } from "@startlist/http/Http"
import { uninterrupted } from "@startlist/core/Audit"
import * as ApplicationLimits from "@startlist/http/ApplicationLimits"
import { get, parseClientId, readOnce, write } from "@startlist/http/Parameters"
import { NotFound } from "@startlist/http/Refusal"
import { Secrets, shortened } from "@startlist/core/Secrets"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import * as Forms from "../Forms.ts"
import * as Page from "../Page.ts"
import { ApplicationsView, ApplicationView, type Refused } from "./ApplicationViews.tsx"
import * as Owner from "./Owner.tsx"
import { SecretView } from "./SecretViews.tsx"
import { readSettings, SettingsView, shownIn } from "./SettingsView.tsx"
import { SentDeliveries } from "./SentDeliveries.ts"

const pageSize = 50

/** The routes of a platform user's applications. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Owner.Services | FailureLimit | OAuth
> = Effect.gen(function*() {
  const applications = yield* Applications
  const sent = yield* SentDeliveries
  const oauth = yield* OAuth
  const subscriptions = yield* Subscriptions
  const policy = yield* Policy
  const config = yield* HttpConfig
  const { authUrl } = config
  const base = basePath(config)
  const owner = yield* Owner.make
  const { spend } = yield* ApplicationLimits.make
  const formKeys = yield* Forms.makeKeys
  const { hash } = yield* Secrets

  const ownedBy = ({ signedIn }: Owner.OwnerContext, after: Option.Option<Application["id"]>, limit: number) =>
    applications.list({ owner: Option.some(signedIn.user.id), after, limit })

  const showList = (
    context: Owner.OwnerContext,
    status: number,
    shown: { readonly after?: Option.Option<Application["id"]>; readonly refused?: Refused } = {}
  ) =>
    Effect.gen(function*() {
      const found = yield* ownedBy(context, shown.after ?? Option.none(), pageSize + 1)
      const view = ApplicationsView({
        context,
        applications: found.slice(0, pageSize),
        more: found.length > pageSize,
        formKey: yield* formKeys.make,
        ...(shown.refused === undefined ? {} : { refused: shown.refused })
      })
      return Page.html(status, view)
    })

  const list: Endpoint = (request) =>
    owner.withOwner(request, Owner.home, (context) =>
      Effect.gen(function*() {
        const after = Option.flatMap(Option.fromNullable(get(yield* readOnce(request), "after")), parseClientId)
        return yield* showList(context, 200, { after })
      }))

  /** The application that an earlier request with this secret has registered, as the answer to that request. */
  const registeredBefore = (context: Owner.OwnerContext, secret: Redacted.Redacted<string>) =>
    Effect.gen(function*() {
      const newest = yield* ownedBy(context, Option.none(), pageSize)
      const found = yield* Effect.findFirst(newest, ({ secrets }) => formKeys.isIn(secrets, secret))
      if (Option.isNone(found)) return Option.none<Created>()
      const application = found.value
      const [signing] = (yield* applications.signingSecrets(application.id)).secrets
      return Option.fromNullable(signing && { application, secret, signingSecret: signing.value })
    }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => Effect.succeed(Option.none<Created>())))

  const register: Endpoint = (request) =>
    owner.withOwner(
      request,
      Owner.home,
      (context) =>
        owner.posted(request, context, (parameters) =>
          Effect.gen(function*() {
            const values = readSettings(parameters)
            const ownerId = context.signedIn.user.id
            const showNew = (registered: Created) =>
              Page.html(201, SecretView({ context, registered, formerUntil: Option.none() }))
            const secret = yield* formKeys.secretOf(get(parameters, "key"), ownerId, JSON.stringify(values))
            if (Option.isNone(secret)) {
              return yield* showList(context, 409, { refused: { values, problem: undefined } })
            }
            const before = yield* registeredBefore(context, secret.value)
            if (Option.isSome(before)) return showNew(before.value)
            const create = applications.create(ownerId, values, secret.value)
            return yield* uninterrupted(
              spend("application", ownerId, create).pipe(
                Effect.tap(({ application }) => owner.record(request, "application_created", context, application)),
                Effect.map(showNew)
              )
            ).pipe(
              Effect.catchTags({
                // Another request of the same form was faster.
                "@startlist/core/Conflict": () =>
                  Effect.flatMap(
                    registeredBefore(context, secret.value),
                    Option.match({
                      onNone: () => showList(context, 409, { refused: { values, problem: undefined } }),
                      onSome: (registered) => Effect.succeed(showNew(registered))
                    })
                  ),
                "@startlist/core/InvalidApplication": (problem) =>
                  showList(context, 422, { refused: { values, problem } })
              })
            )
          }))
    )

  /** The address to which the application sends users. With PKCE, its developer completes it. */
  const linkOf = ({ id, redirectUris: [redirectUri], requirePkce }: Application) =>
    Option.map(Option.fromNullable(redirectUri), (redirectUri) =>
      `${authUrl}/oauth/authorize?${
        write([
          ["client_id", String(id)],
          ["redirect_uri", redirectUri],
          ["response_type", "code"],
          ["scope", policy.scopes.includes("read") ? "read" : policy.scopes.join(" ")],
          ["state", "STATE"],
          ...(requirePkce ? [["code_challenge", "CODE_CHALLENGE"], ["code_challenge_method", "S256"]] as const : [])
        ])
      }`)

  const settingsPath = (id: string | undefined) => `${Owner.home}/${id}/settings`

  const overview: Endpoint = (request, [id]) =>
    owner.withApplication(request, id, `${Owner.home}/${id}`, (context) =>
      Effect.gen(function*() {
        const { application } = context
        const view = ApplicationView({
          context,
          connected: yield* oauth.connected(application.id),
          authorizationLink: linkOf(application),
          subscription: yield* subscriptions.findByApplication(application.id),
          hours: yield* sent.lastDay(application)
        })
        return Page.html(200, view)
      }))

  const nameOf = (settings: Settings): string => shortened(hash(shownIn(settings)))

  const showSettings = (
    context: Owner.ApplicationContext,
    status: number,
    shown: Pick<Parameters<typeof SettingsView>[0], "problem" | "wrongName"> & {
      readonly values?: Settings
      readonly seen?: string
    } = {}
  ) => {
    const seen = nameOf(context.application)
    const endFields = owner.notices.fields("deleted", context.application.name, context.signedIn)
    return Effect.succeed(
      Page.html(status, SettingsView({ values: context.application, seen, ...shown, context, endFields }))
    )
  }

  const settings: Endpoint = (request, [id]) =>
    owner.withApplication(request, id, settingsPath(id), (context) => showSettings(context, 200))

  const save: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) => {
      const values = readSettings(parameters)
      const present = nameOf(context.application)
      const seen = get(parameters, "seen") ?? present
      // Else a page from before a change would revert it, such as the removal of a redirect URI.
      if (seen !== present && nameOf(values) !== present) return Effect.succeed(owner.outdated(request, context))
      return applications.change(context.application.id, values).pipe(
        Effect.tap((changed) => owner.record(request, "application_changed", context, changed)),
        uninterrupted,
        Effect.map(({ name }) => owner.done(context, context.frame.base + settingsPath(id), "saved", name)),
        Effect.catchTags({
          "@startlist/core/ApplicationNotFound": () => new NotFound(),
          "@startlist/core/InvalidApplication": (problem) => showSettings(context, 422, { problem, seen, values })
        })
      )
    }, settingsPath(id))

  /** Deletes the application. A form that is sent twice finds none: the list shows that it has ended. */
  const end: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application: { id: applicationId, name }, frame } = context
        const typed = get(parameters, "name")?.trim().normalize("NFC") ?? ""
        if (typed !== name.normalize("NFC")) return yield* showSettings(context, 422, { wrongName: typed })
        yield* uninterrupted(Effect.tap(
          applications.end(applicationId),
          owner.record(request, "application_ended", context, context.application)
        ))
        return owner.done(context, frame.base + Owner.home, "deleted", name)
      }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())), settingsPath(id)).pipe(
        Effect.catchTag("@startlist/http/NotFound", () =>
          owner.withOwner(request, Owner.home, (context) =>
            owner.posted(request, context, (parameters) => {
              const name = owner.notices.aboutIn(parameters, "deleted", context.signedIn)
              const list = base + Owner.home
              return Effect.succeed(name === undefined ? redirect(list) : owner.done(context, list, "deleted", name))
            })))
      )

  const { refuse } = owner
  return [
    { path: Owner.home, methods: { GET: list, POST: register }, refuse },
    { path: `${Owner.home}/{client_id}`, methods: { GET: overview, POST: save }, refuse },
    { path: `${Owner.home}/{client_id}/settings`, methods: { GET: settings }, refuse },
    { path: `${Owner.home}/{client_id}/end`, methods: { POST: end }, refuse }
  ]
})
