/** An application that acts for users: its credentials and the addresses to which it may be redirected. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Policy } from "./Policy.ts"
import { ClientSecret, live, SigningSecret } from "./ApplicationSecret.ts"
import type { Fingerprint } from "./Secrets.ts"
import { type Conflict, maxId, type StoreError, Text, Version } from "./Store.ts"
import { type UserErased, UserId } from "./User.ts"

/** The `client_id` (requirements §2.1). A positive integer below 2^53. */
export const ApplicationId = Schema.Int.pipe(Schema.between(1, maxId), Schema.brand("@startlist/ApplicationId"))
export type ApplicationId = typeof ApplicationId.Type

const Link = Schema.optionalWith(Schema.String, { exact: true })

/** Addresses that users see: https, at most 255 characters each. In a change, an empty one removes the present one. */
export const Links = Schema.Struct({ website: Link, privacyPolicy: Link, logo: Link })
export type Links = typeof Links.Type

/** Fields of an application that its owner can change. */
export const Settings = Schema.Struct({
  name: Text.pipe(Schema.trimmed(), Schema.minLength(1), Schema.maxLength(100)),
  redirectUris: Schema.Array(Schema.String),
  requirePkce: Schema.Boolean,
  links: Schema.optionalWith(Links, { exact: true })
})
export type Settings = typeof Settings.Type

/** `suspended` by an operator: no token, answer or event until it is restored (law 14). `ended` is final. */
export const State = Schema.Literal("active", "suspended", "ended")
export type State = typeof State.Type

/** A registered application. */
export const Application = Schema.Struct({
  id: ApplicationId,
  version: Version,
  ownerId: UserId,
  state: State,
  /** Number of times that all grants of the application were revoked. A grant of an earlier epoch is revoked. */
  epoch: Schema.NonNegativeInt,
  ...Settings.fields,
  /** Maximum number of requests in a minute, which an operator sets. Absent: no limit. */
  requestsPerMinute: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { exact: true }),
  /** Newest first. Empty if the application has ended. */
  secrets: Schema.Array(ClientSecret),
  createdAt: Schema.DateTimeUtcFromNumber
})
export type Application = typeof Application.Type

/** The fields that apply to all grants of an application, and its version, by which one knows whether a copy is current. */
export type ApplicationState = Pick<Application, "epoch" | "requestsPerMinute" | "state" | "version">

/** An application without an identifier. The store gives one, and saves version 1, active, in epoch 0, unlimited. */
export const NewApplication = Application.omit("id", "version", "state", "epoch", "requestsPerMinute")
export type NewApplication = typeof NewApplication.Type

/** The secrets that sign the events of an application (Standard Webhooks): a record that changes separately from it. */
export const SigningSecrets = Schema.Struct({
  applicationId: ApplicationId,
  version: Version,
  /** Newest first. Without secrets that the store cannot unseal. */
  secrets: Schema.Array(SigningSecret)
})
export type SigningSecrets = typeof SigningSecrets.Type

/** The settings of an application are invalid. */
export class InvalidApplication extends Schema.TaggedError<InvalidApplication>()("@startlist/core/InvalidApplication", {
  field: Schema.Literal("name", "owner_id", "redirect_uris", "website", "privacy_policy", "logo"),
  message: Schema.String
}) {}

/** No application has this identifier, or it has ended. */
export class ApplicationNotFound
  extends Schema.TaggedError<ApplicationNotFound>()("@startlist/core/ApplicationNotFound", {
    applicationId: ApplicationId
  })
{}

/** Store of applications. Every method is atomic. */
export class ApplicationStore extends Context.Tag("@startlist/core/ApplicationStore")<
  ApplicationStore,
  ApplicationStore.Service
>() {}

export declare namespace ApplicationStore {
  export interface Service {
    /** The application in any state, also ended. */
    readonly find: (id: ApplicationId) => Effect.Effect<Option.Option<Application>, StoreError>
    /** Newest first, without ended ones. `owner` selects one owner. `after` starts after that identifier. */
    readonly list: (page: {
      readonly owner: Option.Option<UserId>
      readonly after: Option.Option<ApplicationId>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Application>, StoreError>
    /** `Conflict` if its client secret belongs to an earlier one, `UserErased` if its owner was erased. */
    readonly insert: (
      application: NewApplication,
      signingSecret: Redacted.Redacted<string>
    ) => Effect.Effect<Application, Conflict | UserErased | StoreError>
    /** Saves `next` over version `next.version - 1`. `Conflict` also if its owner was erased, unless it has ended. */
    readonly save: (next: Application) => Effect.Effect<void, Conflict | StoreError>
    /** The signing secrets of an application, also once it has ended. */
    readonly findSigningSecrets: (id: ApplicationId) => Effect.Effect<Option.Option<SigningSecrets>, StoreError>
    /** Saves `next` over version `next.version - 1`. */
    readonly saveSigningSecrets: (next: SigningSecrets) => Effect.Effect<void, Conflict | StoreError>
  }
}

/** "localhost and 127.0.0.1 are allowed" (requirements §4.1): http or https, any port, path and query; no user info. */
const loopback = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?][!-~]*)?$/

/** An https address with a host, without user info or fragment, in printable ASCII. */
const https = /^https:\/\/[A-Za-z0-9[][A-Za-z0-9.:[\]-]*(?:[/?][!-~]*)?$/

/** URLs as browsers read them: the patterns also match `https://[::1`, and the ports 99999 and 0. */
type Parsed = { readonly port: string; readonly searchParams: { readonly has: (name: string) => boolean } }
const parse: (uri: string) => Option.Option<Parsed> = Schema.decodeOption(Schema.URL)

const isLoopback = (uri: string): boolean => loopback.test(uri) && isUrl(uri)

const isHttps = (uri: string): boolean => https.test(uri) && isUrl(uri)

const isUrl = (uri: string): boolean =>
  uri.length <= 2000 && !/[#\\]/.test(uri) && Option.exists(parse(uri), ({ port }) => port !== "0")

/** Parameters of the answer to an authorization request (RFC 6749 §4.1.2, RFC 9207). */
const answered = ["code", "scope", "state", "iss", "error", "error_description", "error_uri"]

/** The parameter of a redirect URI, decoded, that the answer would repeat (RFC 6749 §3.1). */
export const findRepeated = (uri: string): string | undefined =>
  answered.find((name) => Option.exists(parse(uri), ({ searchParams }) => searchParams.has(name)))

/** Checks the redirect URIs that an owner wants to register: https, or http on loopback. */
export const checkRedirectUris = (uris: ReadonlyArray<string>): Either.Either<void, InvalidApplication> => {
  const invalid = (message: string) => Either.left(new InvalidApplication({ field: "redirect_uris", message }))
  if (uris.length > 20) return invalid("at most 20 redirect URIs can be registered")
  if (new Set(uris).size !== uris.length) return invalid("a redirect URI is listed twice")
  for (const uri of uris) {
    const shown = JSON.stringify(uri.slice(0, 200))
    if (!isLoopback(uri) && !isHttps(uri)) {
      return invalid(`${shown} is not a valid URL with https, or with http on localhost, 127.0.0.1 or [::1]`)
    }
    const repeated = findRepeated(uri)
    if (repeated !== undefined) return invalid(`${shown} contains ${repeated}, which the answer adds. Remove it.`)
  }
  return Either.void
}

/** Checks the addresses that users see. */
export const checkLinks = ({ logo, privacyPolicy, website }: Links = {}): Either.Either<void, InvalidApplication> => {
  for (const [field, link] of [["website", website], ["privacy_policy", privacyPolicy], ["logo", logo]] as const) {
    if (link !== undefined && link !== "" && (link.length > 255 || !isHttps(link))) {
      const message = `${field} must be a valid https URL of at most 255 characters`
      return Either.left(new InvalidApplication({ field, message }))
    }
  }
  return Either.void
}

/** Removes the port of a numeric loopback address: an application on a desktop uses any free port. */
const withoutPort = (uri: string): string =>
  uri.replace(/^(https?:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, "$1")

/** Whether `uri` is registered, but for a port on loopback (RFC 9700 §2.1, RFC 8252 §7.3), or the policy accepts it. */
export const acceptsRedirect = (application: Application, uri: string, policy: Policy.Service): boolean =>
  findRepeated(uri) === undefined && (application.redirectUris.includes(uri) ||
    (isLoopback(uri) &&
      (policy.acceptAnyLoopback ||
        application.redirectUris.some((registered) => withoutPort(registered) === withoutPort(uri)))))

/** Unknown client, wrong secret, or the right secret of a suspended application (RFC 6749 §5.2 `invalid_client`). */
export class InvalidClient extends Schema.TaggedError<InvalidClient>()("@startlist/core/InvalidClient", {
  reason: Schema.Literal("unknown", "suspended")
}) {}

/** Returns the found application if it is active and one of its live secrets has this fingerprint. */
export const authenticate = (
  found: Option.Option<Application>,
  hash: Fingerprint,
  now: DateTime.Utc
): Either.Either<Application, InvalidClient> => {
  if (Option.isNone(found) || !live(found.value.secrets, now).some((secret) => secret.hash === hash)) {
    return Either.left(new InvalidClient({ reason: "unknown" }))
  }
  return found.value.state === "active"
    ? Either.right(found.value)
    : Either.left(new InvalidClient({ reason: "suspended" }))
}

/** Suspends or restores. Returns the same application if nothing changes. */
export const setState = (state: "active" | "suspended") => (application: Application): Application =>
  application.state === state ? application : { ...application, state, version: application.version + 1 }

/** Limits the requests of the application in a minute, or removes the limit. */
export const limitRequests = (perMinute: Option.Option<number>) => (application: Application): Application => {
  const { requestsPerMinute: _, ...unlimited } = application
  const limit = Option.match(perMinute, { onNone: () => ({}), onSome: (count) => ({ requestsPerMinute: count }) })
  return { ...unlimited, ...limit, version: application.version + 1 }
}

/** Revokes every grant of the application: earlier grants belong to an earlier epoch. */
export const revokeAll = (application: Application): Application => ({
  ...application,
  version: application.version + 1,
  epoch: application.epoch + 1
})

/** Ends the application: removes its secrets and revokes every grant. */
export const end = (application: Application): Application => ({
  ...revokeAll(application),
  state: "ended",
  name: "-",
  redirectUris: [],
  links: {},
  secrets: []
})

/** Fields that an operator can change: the settings and the owner. */
export type Change = Partial<Settings & Pick<Application, "ownerId">>

/** The fields that have a value: callers without TypeScript can name a field as `undefined`. */
const given = (fields: object) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** The links after a change of them. */
export const mergeLinks = (present: Links = {}, changes: Links = {}): Links =>
  Object.fromEntries(Object.entries({ ...present, ...given(changes) }).filter(([, link]) => link !== ""))

/** Changes the given fields. */
export const change = (application: Application, settings: Change): Application => ({
  ...application,
  ...given(settings),
  links: mergeLinks(application.links, settings.links),
  version: application.version + 1
})
