/** The checks of everything that a server gives: its options, what its functions return, and arguments of calls. */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { keyBytes } from "@startlist/core/Secrets"
import { documented } from "@startlist/core/Policy"
import * as Core from "@startlist/core/User"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import type * as Calls from "./Calls.ts"
import {
  callable,
  type Check,
  type Fields,
  flag,
  integer,
  list,
  object,
  oneOf,
  record,
  shape,
  text,
  value
} from "./Check.ts"
import type * as Node from "./NodeOptions.ts"
import type * as Web from "./Options.ts"
import type * as Plain from "./Plain.ts"
import type { Templates } from "./Templates.ts"

const anyText = text("a text")

const line = text("one line of 1 to 100 characters", (given) => /^[^\p{Cc}\p{Zl}\p{Zp}]{1,100}$/u.test(given))

/** An origin, and optionally a path. A quotation mark would end the value in a challenge. */
const address = text(
  "an http or https address without query: https://club.example/connect",
  (given) => /^https?:\/\/[^/?#\s"]+(?:\/[^?#\s"]*)?$/i.test(given) && URL.canParse(given)
)

const secureUrl = text("an https address", (given) => /^https:\/\/\S+$/i.test(given) && URL.canParse(given))

const isDuration = (given: unknown): boolean =>
  typeof given === "number"
    ? Number.isFinite(given) && given >= 0
    : typeof given === "string" && /^\d+(?:\.\d+)? (?:milli|second|minute|hour|day)s?$/.test(given)

const duration = value(`a duration: milliseconds, or "10 seconds"`, isDuration)

const within = (least: number, most: Duration.DurationInput, message: string): Check =>
  value(message, (given) =>
    isDuration(given) &&
    Option.exists(
      Duration.decodeUnknown(given),
      (time) => Duration.toMillis(time) >= least && Duration.lessThanOrEqualTo(time, most)
    ))

const network = text("a network such as 10.1.0.0/16", (given) => Option.isSome(parseBlock(given)))

const scope = text("a scope without spaces (RFC 6749 §3.3)", (given) => /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(given))

const key = text(
  "32 bytes in base64; make them with: openssl rand -base64 32",
  (given) => Either.isRight(keyBytes(Redacted.make(given)))
)

const role = oneOf(...Core.Role.literals)

const settingsOfPolicy = object<Web.Policy>({
  requireRedirectUri: flag,
  acceptAnyLoopback: flag,
  acceptQueryParameters: flag,
  revokedTokenStatus: oneOf(400, 401),
  describeRefusedRevocation: flag,
  redirectErrorsBeforeSignIn: flag,
  scopes: list(scope),
  defaultScope: list(scope),
  webhookScope: scope,
  accessTokenLifetime: within(1000, Infinity, "a duration of at least a second"),
  refreshTokenIdle: duration,
  codeLifetime: within(1, "10 minutes", "a duration of at most 10 minutes (RFC 6749 §4.1.2)"),
  maxAccessTokens: integer(1),
  maxCodes: integer(1),
  refreshRetry: duration,
  refreshRetryWithoutKey: duration,
  replay: oneOf("refuse", "revoke"),
  replayGrace: duration,
  secretOverlap: duration,
  callbackTimeout: within(1, Infinity, "a duration of at least a millisecond"),
  deliveryDelays: list(duration),
  deliveryJitter: value("a share from 0 to 1", (given) => typeof given === "number" && given >= 0 && given <= 1),
  deliveryLease: duration,
  deliveryClaims: integer(1),
  deliveryConcurrency: integer(1),
  deliveryPerSubscription: integer(1),
  deliveryPoll: within(10, Infinity, "a duration of at least 10 milliseconds"),
  deliveryRetention: duration,
  purgeInterval: within(1000, Infinity, "a duration of at least a second"),
  purgeBatch: integer(1)
})

/** The scopes that other settings name must exist, and a claim must outlast an attempt. */
const policy: Check = (given, name) => {
  const wrong = settingsOfPolicy(given, name)
  if (wrong !== undefined) return wrong
  // The line above has checked it.
  const { defaultScope = [], scopes = documented.scopes, webhookScope } = given as Web.Policy
  const { callbackTimeout = documented.callbackTimeout, deliveryLease = documented.deliveryLease } = given as Web.Policy
  if (Duration.lessThanOrEqualTo(deliveryLease, callbackTimeout)) {
    return `${name}.deliveryLease: must be longer than ${name}.callbackTimeout`
  }
  if (scopes.length === 0) return `${name}.scopes: must not be empty`
  const isUnknown = (one: string) => !scopes.includes(one)
  if (defaultScope.some(isUnknown)) return `${name}.defaultScope: must be among ${name}.scopes`
  return webhookScope !== undefined && isUnknown(webhookScope)
    ? `${name}.webhookScope: must be one of ${name}.scopes`
    : undefined
}

const platform: Check = object<Web.Platform>({
  name: line,
  logo: object<NonNullable<Web.Platform["logo"]>>(
    {
      type: text("a media type: image/svg+xml", (given) => /^image\/[\w.+-]+$/.test(given)),
      content: value("a Uint8Array", (given) => given instanceof Uint8Array)
    },
    "type",
    "content"
  ),
  color: text("a colour: #0172ad", (given) => /^#[\da-f]{6}$/i.test(given)),
  support: text("an https or mailto address", (given) => /^(?:https:\/\/|mailto:)\S+$/i.test(given)),
  privacyPolicy: secureUrl,
  guide: secureUrl
})

const listOfResources = list(object<Web.Resource>({ url: address, scopes: list(scope) }, "url"))

/** The metadata of a resource is found by its path. */
const resources: Check = (given, name) => {
  const wrong = listOfResources(given, name)
  if (wrong !== undefined) return wrong
  // The line above has checked it.
  const paths = (given as ReadonlyArray<Web.Resource>).map(({ url }) => new URL(url).pathname)
  return new Set(paths).size < paths.length ? `${name}: must have different paths` : undefined
}

const callbacks: Fields<Web.Callbacks> = {
  allow: list(network),
  userAgent: text("printable ASCII", (given) => /^[\x20-\x7E]+$/.test(given))
}

const limits: Fields<NonNullable<Web.WebOptions["limits"]>> = { timeout: duration }

const endpoints: ReadonlyArray<Web.Endpoints> = ["oauth", "athlete", "webhooks", "consent", "account", "developer"]

const common: Fields<Web.WebOptions> = {
  url: address,
  key,
  retiredKeys: list(key),
  callbacks: object<Web.Callbacks>(callbacks),
  authentication: object<Web.SignIn>(
    { identify: callable, signInUrl: callable, signOutUrl: text("an address", (given) => given !== "") },
    "identify",
    "signInUrl",
    "signOutUrl"
  ),
  findUser: callable,
  importedSecrets: object<Web.ImportedSecrets>({ accepts: callable, matches: callable }, "accepts", "matches"),
  endpoints: list(oneOf(...endpoints)),
  templates: object<Partial<Templates>>({
    consent: callable,
    wrongRole: callable,
    applications: callable,
    failure: callable,
    sources: record(anyText)
  }),
  policy,
  platform,
  issuer: address,
  trustedProxies: list(network),
  resources,
  worker: flag,
  retention: flag,
  log: callable,
  limits: object<NonNullable<Web.WebOptions["limits"]>>(limits)
}

/** The options of `WebStartlist.make`. */
export const web: Check = object<Web.WebOptions>(common, "url", "findUser")

const server: Check = object<Node.PostgresServer>({
  url: text("postgres://user:password@host:port/database", (given) => /^postgres(?:ql)?:\/\/./i.test(given)),
  maxConnections: integer(2),
  preparedStatements: flag,
  prefix: text("letters, digits and _, at most 20", (given) => /^[a-z_][a-z0-9_]{0,19}$/.test(given))
}, "url")

const folder: Check = object<Node.DatabaseFolder>({ folder: text("a path", (given) => given !== "") }, "folder")

/** The options of `Startlist.make`. */
export const node: Check = object<Node.Options>(
  {
    ...common,
    callbacks: object<Node.NodeCallbacks>({
      ...callbacks,
      onlyAllowed: flag,
      ca: list(text("a certificate in PEM", (given) => given.includes("-----BEGIN CERTIFICATE-----")))
    }),
    database: (given, name) =>
      (typeof given === "object" && given !== null && "folder" in given ? folder : server)(given, name),
    limits: object<NonNullable<Node.Options["limits"]>>({ ...limits, capacity: integer(0) })
  },
  "url",
  "findUser"
)

/** The requirement of a guard. `resources`: those of the options. */
export const requirement = (resources: ReadonlyArray<Web.Resource> = []): Check =>
  object<Web.Requirement>({
    resource: value("one of the resources in the options", (given) => resources.some(({ url }) => url === given)),
    scopes: list(scope),
    roles: list(role)
  })

/** A user. It may have more fields. */
export const user: Check = shape<Plain.User>(
  {
    id: value("an integer from 1 to 2^53 - 1", Schema.is(Core.UserId)),
    role,
    email: value("an e-mail address of at most 254 characters", Schema.is(Core.User.fields.email)),
    firstName: value("text of at most 200 characters", Schema.is(Core.User.fields.firstName)),
    lastName: value("text of at most 200 characters", Schema.is(Core.User.fields.lastName))
  },
  "id",
  "role",
  "email"
)

/** Settings of an application. Their limits are rules of the core. */
const fieldsOfSettings: Fields<Calls.Settings> = {
  name: anyText,
  redirectUris: list(anyText),
  requirePkce: flag,
  links: object<Plain.Links>({ website: anyText, privacyPolicy: anyText, logo: anyText })
}

export const newSettings: Check = object<Calls.Settings>(fieldsOfSettings, "name", "redirectUris")

export const rotation: Check = object<Calls.Rotation>({ overlapSeconds: integer(0) })

/** A wrong identifier finds nothing. */
const anything: Check = () => undefined

export const change: Check = object<Calls.Change>({ ...fieldsOfSettings, ownerId: anything })

const page = { after: anything, limit: integer(0) }

export const applicationFilter: Check = object<Argument<Calls.Calls["applications"]["list"]>>({
  ownerId: anything,
  ...page
})

export const deliveryFilter: Check = object<Argument<Calls.Calls["deliveries"]["list"]>>({
  applicationId: anything,
  state: oneOf("pending", "delivered", "exhausted", "cancelled", "set_aside"),
  ...page
})

/** The first argument of a call. */
type Argument<Call extends (...args: ReadonlyArray<never>) => unknown> = NonNullable<Parameters<Call>[0]>

/** Wrong identifiers of parties are refusals. */
export const parties: Check = object<Plain.Parties>({
  athleteId: anything,
  organizerId: anything,
  clubId: anything,
  platformUserId: anything
}, "athleteId")

/** Any object, whose fields are refusals if they are wrong. */
export const anyObject: Check = record(anything)

export const changed: Check = object<Argument<Calls.Calls["events"]["registrationChanged"]>>(
  {
    id: anything,
    parties,
    updates: anyObject,
    sequence: anything
  },
  "id",
  "parties",
  "updates"
)

export const anyList: Check = list(anything)

export const records: Check = value(
  "lines: an array, or another iterable, and not one text",
  (given) => typeof given === "object" && given !== null && (Symbol.iterator in given || Symbol.asyncIterator in given)
)

export const importOptions: Check = object<NonNullable<Parameters<Calls.Calls["import"]>[1]>>({ dryRun: flag })
