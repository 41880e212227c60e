/** What Startlist needs of your server, and what it gives back, as plain types. Imports no Effect. */
import type { Calls, Consents } from "./Calls.ts"
import type { Access, Role, User } from "./Plain.ts"
import type { Templates } from "./Templates.ts"

/** A value, or a promise of it. */
export type MaybePromise<A> = A | Promise<A>

/** Groups of endpoints that can be mounted. The last three are pages. */
export type Endpoints = "oauth" | "athlete" | "webhooks" | "consent" | "account" | "developer"

/** A number of milliseconds, or a text such as `"10 seconds"`. */
export type Duration = number | `${number} ${"milli" | "second" | "minute" | "hour" | "day"}${"" | "s"}`

/** A request of a browser. */
export interface BrowserRequest {
  readonly method: string
  /** The path as it was sent, without the query. */
  readonly path: string
  /** The query without `?`, empty if missing. It can contain credentials: do not log it. */
  readonly query: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The network address of the client. */
  readonly address: string
}

/** Identifies the user of the browser, and has the URLs for signing in and out. */
export interface SignIn {
  /** The signed-in user of a request, and an unguessable value of the session for our forms. */
  readonly identify: (
    request: BrowserRequest
  ) => MaybePromise<{ readonly user: User; readonly csrf: string } | undefined>
  /**
   * URL to sign in. Afterwards, send the browser back to `returnTo`, a path with query. With `login`, the application
   * wants the user to sign in again (`prompt=login`): ask for the password, also in a session.
   */
  readonly signInUrl: (returnTo: string, prompt?: "login") => string
  /** URL to which the form "use another account" posts its fields `csrf` and `return_to`. */
  readonly signOutUrl: string
}

/** Your platform as its users know it, on our pages and in the metadata. */
export interface Platform {
  /** Default: Startlist. No application can use it in its own name. */
  readonly name?: string
  /** Shown beside the name, and as the icon of the pages. `type` is its media type: `image/svg+xml`. */
  readonly logo?: { readonly type: string; readonly content: Uint8Array }
  /** Colour of buttons and links: `#rrggbb`. White text on it must have a contrast of 4.5:1 (WCAG AA). */
  readonly color?: string
  /** Where users get help: an `https` or `mailto` address. */
  readonly support?: string
  /** Your privacy policy: an `https` address. */
  readonly privacyPolicy?: string
  /** Your guide for developers of applications: an `https` address. */
  readonly guide?: string
}

/** Settings that differ from the documented ones (requirements §8). Names and defaults: docs/reference.md. */
export interface Policy {
  /** Whether an exchange without `redirect_uri` is refused, as RFC 6749 §4.1.3 demands. Default: no. */
  readonly requireRedirectUri?: boolean
  /** Whether loopback addresses are accepted that are not registered (requirements §4.1). Default: yes. */
  readonly acceptAnyLoopback?: boolean
  /** Whether `/oauth/token` and `/oauth/revoke` read parameters from the query. Default: yes. */
  readonly acceptQueryParameters?: boolean
  /** Status for a refresh token that was replaced or revoked (requirements §7). Default: 401. */
  readonly revokedTokenStatus?: 400 | 401
  /** Whether the body of a refused revocation has an error (RFC 7009 §2.2.1). Default: no. */
  readonly describeRefusedRevocation?: boolean
  /** Whether errors of an authorization request redirect back before sign-in. Default: yes. */
  readonly redirectErrorsBeforeSignIn?: boolean
  /** The scopes that exist: a grant loses others at its next refresh. Default: the examples of the interface. */
  readonly scopes?: ReadonlyArray<string>
  /** The scope of an authorization request without one (RFC 6749 §3.3). Default: such a request is refused. */
  readonly defaultScope?: ReadonlyArray<string>
  /** The scope that an access token needs for the webhook interface, one of `scopes`. Default: no scope. */
  readonly webhookScope?: string
  /** Lifetime of an access token (requirements §8). Default: 8 hours. */
  readonly accessTokenLifetime?: Duration
  /** Lifetime of a refresh token without use. Default: 90 days. */
  readonly refreshTokenIdle?: Duration
  /** Lifetime of an authorization code, at most 10 minutes (RFC 6749 §4.1.2). Default: 5 minutes. */
  readonly codeLifetime?: Duration
  /** A grant has at most this many live access tokens. Default: 20. The oldest one is removed first. */
  readonly maxAccessTokens?: number
  /** A grant remembers at most this many codes. Default: 20. */
  readonly maxCodes?: number
  /** Time in which a repeated exchange or refresh with the same `Idempotency-Key` gets the same answer. Default: 10 minutes. */
  readonly refreshRetry?: Duration
  /** The same without an `Idempotency-Key`. Default: 0, the previous token is invalid immediately (requirements §4.3). */
  readonly refreshRetryWithoutKey?: Duration
  /** Effect of a replay beside its refusal. `revoke` ends its line (RFC 9700 §4.14.2). Default: `refuse`. */
  readonly replay?: "refuse" | "revoke"
  /** With `revoke`: time after the first use in which the second one counts as a double send. Default: 60 seconds. */
  readonly replayGrace?: Duration
  /** Time for which a replaced secret stays valid beside its successor. Default: 1 day. */
  readonly secretOverlap?: Duration
  /** Time limit of a callback (requirements §8). Default: 2 seconds. */
  readonly callbackTimeout?: Duration
  /** Pauses before the attempts 2, 3, …. Default: 5 and 60 seconds, so at most three attempts (requirements §8). */
  readonly deliveryDelays?: ReadonlyArray<Duration>
  /** Maximum random change of each pause, as a share of it. Default: 0.2. */
  readonly deliveryJitter?: number
  /** Time for which a claimed delivery belongs to its worker. Default: 15 seconds. */
  readonly deliveryLease?: Duration
  /** Claims in a row without an outcome, before a delivery is set aside. Default: 5. */
  readonly deliveryClaims?: number
  /** Maximum number of attempts in flight in this process. Default: 256. */
  readonly deliveryConcurrency?: number
  /** Maximum number of attempts in flight to one subscription in this process. Default: 16. */
  readonly deliveryPerSubscription?: number
  /** Pause after which a worker looks for work without a hint. Default: 1 second. */
  readonly deliveryPoll?: Duration
  /** Time for which ended deliveries are stored. Default: 30 days. */
  readonly deliveryRetention?: Duration
  /** Pause between two removals of old deliveries. Default: 15 minutes. */
  readonly purgeInterval?: Duration
  /** Maximum number of rows that one statement of the removal removes. Default: 1000. */
  readonly purgeBatch?: number
}

/** An API of your server that accepts access tokens of Startlist. */
export interface Resource {
  /** Its public URL: an origin and, optionally, a path. No two resources may have the same path. */
  readonly url: string
  /** The scopes that a client may need. Default: all that Startlist advertises. */
  readonly scopes?: ReadonlyArray<string>
}

/** Requirement for a token. */
export interface Requirement {
  /** The URL of what is guarded, one of `resources`. Clients then find Startlist by the answer (RFC 9728). */
  readonly resource?: string
  /** The token must have at least one of these scopes. Default: any scope. */
  readonly scopes?: ReadonlyArray<string>
  /** The token's user must have one of these roles. Default: any role. */
  readonly roles?: ReadonlyArray<Role>
}

/** Checks hashes of a former server. The first right use of a secret replaces its hash by ours. */
export interface ImportedSecrets {
  /** Whether `matches` can check this hash. An import refuses all others. Its text is `secret_hash` without change. */
  readonly accepts: (hash: string) => boolean
  /** Whether this is the secret of the hash. Startlist limits how often it asks. */
  readonly matches: (hash: string, secret: string) => MaybePromise<boolean>
}

/** A line of the log. It contains no secrets. */
export interface LogEntry {
  readonly level: "info" | "warn" | "error"
  readonly message: string
  /** The unexpected error behind it, with its stack. Reasons of expected failures are in `message`. */
  readonly cause?: unknown
}

/** How callbacks are called. */
export interface Callbacks {
  /** Networks that may be called besides the public internet, also with http: `10.1.0.0/16`. Default: none. */
  readonly allow?: ReadonlyArray<string>
  /** The `User-Agent` of the requests. Default: Startlist. */
  readonly userAgent?: string
}

/** What Startlist needs of a server, in any runtime. */
export interface WebOptions {
  /** Public URL at which Startlist is mounted: an origin, and optionally a path. A slash at its end is removed. */
  readonly url: string
  /**
   * The master key: 32 bytes in base64, the same in every process, such as the output of `openssl rand -base64 32`. It
   * encrypts the signing secrets of webhooks, and refresh tokens are derived with it. Default in memory: a random one.
   */
  readonly key?: string
  /** Previous master keys. Values that were made with them stay valid. */
  readonly retiredKeys?: ReadonlyArray<string>
  /** How callbacks are called. */
  readonly callbacks?: Callbacks
  /** Identifies the user of the browser. The pages `consent`, `account` and `developer` need it. */
  readonly authentication?: SignIn
  /** Finds a user of your server by identifier. */
  readonly findUser: (id: number) => MaybePromise<User | undefined>
  /** Checks client secrets that you import with the hashes of a former server, such as bcrypt. Default: only SHA-256. */
  readonly importedSecrets?: ImportedSecrets
  /** Groups of endpoints to mount. Default: all. */
  readonly endpoints?: ReadonlyArray<Endpoints>
  /** Your own pages in place of ours. */
  readonly templates?: Partial<Templates>
  /** Settings that differ from the documented ones. */
  readonly policy?: Policy
  /** Your platform as users know it. */
  readonly platform?: Platform
  /** Issuer in the metadata (default: `url`) and in redirects (RFC 9207), which have no `iss` without this option. */
  readonly issuer?: string
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** Your own APIs that accept access tokens of Startlist, so that clients find Startlist by their URLs (RFC 9728). */
  readonly resources?: ReadonlyArray<Resource>
  /** Whether this process delivers events. Default: true. At least one process must. */
  readonly worker?: boolean
  /** Whether this process removes deliveries past their retention. Default: true. One process is enough. */
  readonly retention?: boolean
  /** Your log. Default: one line for each entry on the console. */
  readonly log?: (entry: LogEntry) => void
  /** Time limit of requests. */
  readonly limits?: { readonly timeout?: Duration }
}

/** The outcome of a check of an access token: the access, or a complete response. */
export type Checked =
  | { readonly ok: true; readonly access: Access }
  | { readonly ok: false; readonly answer: Answer }

/** A complete response, for the framework's own response type. */
export interface Answer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: string | Uint8Array
}

/** Startlist with promises and `fetch`. */
export interface WebStartlist extends Calls {
  /**
   * For servers with `fetch` handlers: Hono, Next, Deno, Bun, Workers, … Without the address of the peer, limits count
   * all clients as one. The promise is never rejected.
   */
  readonly handler: (request: Request, connection?: { readonly address?: string | undefined }) => Promise<Response>
  /**
   * Guards your own route. It gets Web requests with a valid token and the access of that token. All others get the
   * responses of `/api/v1/athlete`.
   */
  readonly guardHandler: (
    requirement: Requirement,
    handle: (request: Request, access: Access) => MaybePromise<Response>
  ) => (request: Request) => Promise<Response>
  /** Checks the `Authorization` header, for frameworks with their own response type. */
  readonly check: (authorization: string | undefined, requirement?: Requirement) => Promise<Checked>
  /** For a consent page of your own, mounted in place of `consent`. */
  readonly consents: Consents
  /**
   * Completes requests, calls and deliveries in progress, and closes the connections of the stores. Later requests get 503, and
   * later calls reject. Waits at most the time limit of requests.
   */
  readonly close: () => Promise<void>
}
