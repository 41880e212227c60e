/** Applications and their secrets. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Application from "@startlist/core/Application"
import { Applications } from "@startlist/core/Applications"
import { CommandFailed } from "../commands/Terminal.ts"
import { cancelInParts } from "./deliveries.ts"
import { ApplicationId, defaultLimit, Flag, maybe, next, optional, paging, saying, UserId, Words } from "./Input.ts"
import { type Call, command, type Group, operation } from "./Operation.ts"
import { secrets, secretTexts } from "./secrets.ts"
import { findUsers } from "./users.ts"

const ApplicationRecord = Schema.Struct({
  client_id: Schema.Int,
  name: Schema.String,
  owner_id: Schema.Int,
  redirect_uris: Schema.Array(Schema.String),
  require_pkce: Schema.Boolean,
  state: Application.State,
  requests_per_minute: Schema.NullOr(Schema.Int),
  website: Schema.NullOr(Schema.String),
  privacy_policy: Schema.NullOr(Schema.String),
  logo: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Application" })

const showApplication = (application: Application.Application): typeof ApplicationRecord.Type => ({
  client_id: application.id,
  name: application.name,
  owner_id: application.ownerId,
  redirect_uris: application.redirectUris,
  require_pkce: application.requirePkce,
  state: application.state,
  requests_per_minute: application.requestsPerMinute ?? null,
  website: application.links?.website ?? null,
  privacy_policy: application.links?.privacyPolicy ?? null,
  logo: application.links?.logo ?? null
})

/** Answers with the application that `use` returns. */
const shown = <E, R>(use: (service: Applications.Service) => Effect.Effect<Application.Application, E, R>) =>
  Effect.map(Effect.flatMap(Applications, use), showApplication)

const settings = {
  name: saying(Application.Settings.fields.name, "must be text of 1 to 100 characters, without spaces around it"),
  redirect_uris: saying(Schema.Array(Words), "must be an array of redirect URIs"),
  require_pkce: Flag
}

const links = {
  website: optional(Schema.NullOr(Words)),
  privacy_policy: optional(Schema.NullOr(Words)),
  logo: optional(Schema.NullOr(Words))
}

type Links = { readonly [Name in keyof typeof links]?: string | null }

/** The links in a request. `null` removes a link. */
const readLinks = ({ logo, privacy_policy, website }: Links): Application.Links => ({
  ...(website === undefined ? {} : { website: website ?? "" }),
  ...(privacy_policy === undefined ? {} : { privacyPolicy: privacy_policy ?? "" }),
  ...(logo === undefined ? {} : { logo: logo ?? "" })
})

const createApplication = operation({
  request: "POST /applications",
  summary: "Register an application",
  description:
    "Registers an application. Only this response contains the client secret. The signing secret can be shown again.",
  input: {
    name: settings.name,
    owner_id: UserId,
    redirect_uris: settings.redirect_uris,
    require_pkce: maybe(Flag),
    ...links
  },
  output: Schema.Struct({
    ...ApplicationRecord.fields,
    client_secret: Schema.String,
    signing_secret: Schema.String
  }).annotations({ identifier: "ApplicationWithSecret" }),
  status: 201,
  refuses: [422],
  run: ({ name, owner_id, redirect_uris, require_pkce = false, ...links }) =>
    Effect.flatMap(Applications, ({ create }) =>
      create(owner_id, {
        name,
        redirectUris: redirect_uris,
        requirePkce: require_pkce,
        links: readLinks(links)
      })).pipe(
        Effect.map(({ application, secret, signingSecret }) => ({
          ...showApplication(application),
          client_secret: Redacted.value(secret),
          signing_secret: Redacted.value(signingSecret)
        })),
        // Only a given secret can belong to another application.
        Effect.catchTag("@startlist/core/Conflict", Effect.die)
      )
})

/** The user with an e-mail address, who is to own an application. */
const findOwner = (call: Call, email: string) =>
  Effect.gen(function*() {
    const { users: [owner] } = yield* call(findUsers, { email })
    if (owner !== undefined) return Schema.decodeSync(UserId)(owner.id)
    return yield* new CommandFailed({ message: `there is no user with the e-mail address ${email}` })
  })

const linkTexts = {
  website: "https URL of the website, shown on the consent page",
  privacy_policy: "https URL of the privacy policy, shown on the consent page",
  logo: "https URL of an image, shown on the consent page"
}

const settingFlags = {
  redirect_uris: { name: "redirect-uri", about: "URL to which users may be sent back; you can repeat this option" },
  require_pkce: "whether the application must use PKCE (RFC 7636)",
  ...linkTexts
}

const givenLinks = { website: optional(Words), privacy_policy: optional(Words), logo: optional(Words) }

const creation = command({
  name: "application create",
  help: "registers an application and shows its secret, only this once",
  arguments: { more: { name: "redirect-uri", about: "further redirect URIs" } },
  options: { name: "name that users see", owner_email: "the e-mail address of a platform user", ...settingFlags },
  input: {
    owner_email: Schema.String,
    ...settings,
    require_pkce: optional(Flag),
    ...givenLinks,
    more: settings.redirect_uris
  },
  ask: ({ more, owner_email, redirect_uris, ...given }, call) =>
    Effect.flatMap(
      findOwner(call, owner_email),
      (owner_id) => call(createApplication, { owner_id, redirect_uris: [...redirect_uris, ...more], ...given })
    )
})

const listApplications = operation({
  request: "GET /applications",
  summary: "List applications",
  description: "Lists applications, newest first, page by page.",
  command: { name: "application list", help: "lists applications, newest first" },
  input: paging(ApplicationId),
  output: Schema.Struct({ applications: Schema.Array(ApplicationRecord), next: Schema.optional(Schema.Int) }),
  run: ({ after, limit = defaultLimit }) =>
    Effect.map(
      Effect.flatMap(Applications, ({ list }) =>
        list({ owner: Option.none(), after: Option.fromNullable(after), limit })),
      (page) => ({ applications: page.map(showApplication), ...next(page, limit) })
    )
})

const client_id = "the application's client_id"

const getApplication = operation({
  request: "GET /applications/{client_id}",
  summary: "Show an application",
  description: "Shows an application.",
  command: { name: "application show", help: "shows one application", arguments: { client_id } },
  input: { client_id: ApplicationId },
  output: ApplicationRecord,
  refuses: [404],
  run: ({ client_id }) => shown(({ find }) => find(client_id))
})

const changeApplication = operation({
  request: "PATCH /applications/{client_id}",
  summary: "Change an application",
  description: "Changes the given fields only. `redirect_uris` replaces all present redirect URIs.",
  input: {
    client_id: ApplicationId,
    name: optional(settings.name),
    owner_id: optional(UserId),
    redirect_uris: optional(settings.redirect_uris),
    require_pkce: optional(Flag),
    ...links
  },
  output: ApplicationRecord,
  refuses: [404, 422],
  run: ({ client_id, name, owner_id, redirect_uris, require_pkce, ...links }) =>
    shown(({ change }) =>
      change(client_id, {
        ...(owner_id === undefined ? {} : { ownerId: owner_id }),
        ...(name === undefined ? {} : { name }),
        ...(redirect_uris === undefined ? {} : { redirectUris: redirect_uris }),
        ...(require_pkce === undefined ? {} : { requirePkce: require_pkce }),
        links: readLinks(links)
      })
    )
})

const update = command({
  name: "application update",
  help: "changes the given settings; redirect URIs replace all present ones; an empty URL removes the link",
  arguments: { client_id },
  options: {
    name: "name that users see",
    owner_email: "the e-mail address of the new owner, a platform user",
    ...settingFlags
  },
  input: {
    client_id: ApplicationId,
    name: optional(settings.name),
    owner_email: optional(Schema.String),
    redirect_uris: optional(settings.redirect_uris),
    require_pkce: optional(Flag),
    ...givenLinks
  },
  ask: ({ owner_email, ...given }, call) =>
    owner_email === undefined
      ? call(changeApplication, given)
      : Effect.flatMap(findOwner(call, owner_email), (owner_id) => call(changeApplication, { ...given, owner_id }))
})

const RequestsPerMinute = saying(Schema.Int.pipe(Schema.between(1, 1_000_000)), "must be an integer from 1 to 1000000")

const limitApplication = operation({
  request: "POST /applications/{client_id}/limit",
  summary: "Limit the requests of an application",
  description:
    "Limits the requests of the application in a minute, over all nodes. Further ones get 429 and `Retry-After`. "
    + "`null` removes the limit.",
  input: { client_id: ApplicationId, requests_per_minute: Schema.NullOr(RequestsPerMinute) },
  output: ApplicationRecord,
  refuses: [404],
  audited: ({ requests_per_minute }) =>
    requests_per_minute === null ? "no limit" : `${requests_per_minute} requests per minute`,
  run: ({ client_id, requests_per_minute }) =>
    shown(({ limitRequests }) => limitRequests(client_id, Option.fromNullable(requests_per_minute)))
})

const limit = command({
  name: "application limit",
  help: "limits the requests of an application in a minute: further ones get 429",
  arguments: { client_id },
  options: {
    requests_per_minute: "maximum number of requests in a minute, over all nodes",
    remove: { about: "removes the limit", type: "switch" }
  },
  input: { client_id: ApplicationId, requests_per_minute: optional(RequestsPerMinute), remove: optional(Flag) },
  ask: ({ client_id, remove = false, requests_per_minute }, call) =>
    remove === (requests_per_minute === undefined)
      ? call(limitApplication, { client_id, requests_per_minute: requests_per_minute ?? null })
      : new CommandFailed({ message: "give either --requests-per-minute or --remove" })
})

const suspendApplication = operation({
  request: "POST /applications/{client_id}/suspend",
  summary: "Suspend an application",
  description: "Refuses all requests of the application until it is restored. Its events wait, and nothing is lost.",
  command: {
    name: "application suspend",
    help: "suspends an application: its requests are refused and its events wait",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: ApplicationRecord,
  refuses: [404],
  run: ({ client_id }) => shown(({ suspend }) => suspend(client_id))
})

const restoreApplication = operation({
  request: "POST /applications/{client_id}/restore",
  summary: "Restore a suspended application",
  description: "Ends the suspension, and delivers the events that waited.",
  command: {
    name: "application restore",
    help: "restores a suspended application and delivers its waiting events",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: ApplicationRecord,
  refuses: [404],
  run: ({ client_id }) => shown(({ restore }) => restore(client_id))
})

const revokeAllGrants = operation({
  request: "POST /applications/{client_id}/revocations",
  summary: "Revoke all grants of an application",
  description: "Revokes all grants of the application immediately. Every user must allow it again. No event is sent.",
  command: {
    name: "application revoke-all",
    help: "revokes all grants of the application, for all users",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: Schema.Void,
  status: 204,
  refuses: [404],
  run: ({ client_id }) => Effect.flatMap(Applications, ({ revokeAll }) => revokeAll(client_id))
})

const endApplication = operation({
  request: "DELETE /applications/{client_id}",
  summary: "End an application permanently",
  description: "Ends the application with its secrets, grants and subscription. It cannot be restored.",
  command: {
    name: "application end",
    help: "ends the application with its secrets, grants and subscription; this cannot be undone",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: Schema.Void,
  status: 204,
  refuses: [404],
  before: ({ client_id }) => cancelInParts(client_id),
  run: ({ client_id }) => Effect.flatMap(Applications, ({ end }) => end(client_id))
})

/** Applications and their secrets. */
export const applications = {
  commands: { name: "application", help: "applications and their secrets" },
  texts: {
    ...secretTexts,
    applications: ["One page, newest first", undefined],
    logo: [linkTexts.logo, "https://race-day.example/logo.png"],
    name: ["Name that users see", "Race Day"],
    owner_id: ["The platform user who owns the application", 41],
    privacy_policy: [linkTexts.privacy_policy, "https://race-day.example/privacy"],
    redirect_uris: ["URLs to which users may be sent back: https, or http on localhost; at most 20", [
      "https://race-day.example/callback"
    ]],
    requests_per_minute: ["Maximum number of requests in a minute. `null`: no limit", 600],
    require_pkce: ["Whether authorization requests without PKCE are refused", true],
    "Application.state": ["`active`, `suspended` by an operator, or `ended`", "active"],
    website: [linkTexts.website, "https://race-day.example"]
  },
  members: {
    createApplication,
    creation,
    listApplications,
    getApplication,
    changeApplication,
    update,
    ...secrets,
    limitApplication,
    limit,
    suspendApplication,
    restoreApplication,
    revokeAllGrants,
    endApplication
  }
} satisfies Group
