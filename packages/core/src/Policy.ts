/** Limits and choices of the service. Defaults apply to everything that you do not provide. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

export declare namespace Policy {
  export interface Service {
    /** Whether an exchange without `redirect_uri` is refused, as RFC 6749 §4.1.3 demands. */
    readonly requireRedirectUri: boolean
    /** Whether loopback addresses are accepted that are not registered (requirements §4.1; RFC 9700 §2.1: no). */
    readonly acceptAnyLoopback: boolean
    /** Whether `/oauth/token` and `/oauth/revoke` read parameters from the query (RFC 6749 §2.3.1 and §3.2: no). */
    readonly acceptQueryParameters: boolean
    /** Status for a refresh token that was replaced or revoked (requirements §7: 401; RFC 6749 §5.2: 400). */
    readonly revokedTokenStatus: 400 | 401
    /** Whether the body of a refused revocation has an error such as `invalid_client` (RFC 7009 §2.2.1: yes). */
    readonly describeRefusedRevocation: boolean
    /** Whether errors of an authorization request redirect back before sign-in (RFC 9700 §4.11.2: no). */
    readonly redirectErrorsBeforeSignIn: boolean
    /** The scopes that exist: a grant loses others at its next refresh. Default: the examples of the interface. */
    readonly scopes: ReadonlyArray<string>
    /** The scope of an authorization request without one (RFC 6749 §3.3). Empty: such a request is refused. */
    readonly defaultScope: ReadonlyArray<string>
    /** The scope that an access token needs for the webhook interface, one of `scopes`. Default: no scope. */
    readonly webhookScope: Option.Option<string>
    /** Lifetime of an access token (requirements §8: 28 800 s). */
    readonly accessTokenLifetime: Duration.Duration
    /** Lifetime of a refresh token without use. */
    readonly refreshTokenIdle: Duration.Duration
    /** Lifetime of an authorization code; RFC 6749 §4.1.2 allows 10 minutes at most. */
    readonly codeLifetime: Duration.Duration
    /** A grant has at most this many live access tokens. The oldest one is removed first. */
    readonly maxAccessTokens: number
    /** A grant remembers at most this many codes, pending or used. The oldest one is removed first. */
    readonly maxCodes: number
    /** Time in which a repeated exchange or refresh with the same `Idempotency-Key` gets the same answer. */
    readonly refreshRetry: Duration.Duration
    /** The same without an `Idempotency-Key` (requirements §4.3: 0, the previous token is invalid immediately). */
    readonly refreshRetryWithoutKey: Duration.Duration
    /** Effect of a replay beside its refusal. `revoke` ends its line (RFC 9700 §4.14.2, for public clients). */
    readonly replay: "refuse" | "revoke"
    /** With `revoke`: time after the first use in which the second one counts as a client's double send. */
    readonly replayGrace: Duration.Duration
    /** Time for which a rotated client or signing secret stays valid beside its successor. */
    readonly secretOverlap: Duration.Duration
    /** Timeout for the answer of a callback, from the start of the attempt (requirements §8: 2 s). */
    readonly callbackTimeout: Duration.Duration
    /** Pauses before the attempts 2, 3, …: their number plus one is the number of attempts (requirements §8: 3). */
    readonly deliveryDelays: ReadonlyArray<Duration.Duration>
    /** Maximum random change of each pause, as a share of it, in both directions. */
    readonly deliveryJitter: number
    /** Time for which a claimed delivery belongs to its worker. It must be well above the callback timeout. */
    readonly deliveryLease: Duration.Duration
    /** Claims in a row without an outcome, before it is set aside. After half of them, it is attempted alone. */
    readonly deliveryClaims: number
    /** Maximum number of attempts in flight, per node. */
    readonly deliveryConcurrency: number
    /** Maximum number of attempts in flight to one subscription, per node. */
    readonly deliveryPerSubscription: number
    /** Pause after which a worker looks for work without a hint. */
    readonly deliveryPoll: Duration.Duration
    /** Time for which ended deliveries are stored. */
    readonly deliveryRetention: Duration.Duration
    /** Pause between two purges of a node. The first one is 30 seconds after the start. */
    readonly purgeInterval: Duration.Duration
    /** Maximum number of rows that one statement of the purge removes. */
    readonly purgeBatch: number
  }
}

/** Clocks of the nodes and of the database may differ by this much: a lease and a due time stay what they are. */
export const clockTolerance = Duration.seconds(30)

/** The documented behaviour (requirements §8 and `docs/reference.md`). */
export const documented: Policy.Service = {
  requireRedirectUri: false,
  acceptAnyLoopback: true,
  acceptQueryParameters: true,
  revokedTokenStatus: 401,
  describeRefusedRevocation: false,
  redirectErrorsBeforeSignIn: true,
  scopes: ["profile:read", "profile:write", "read", "write", "read+write"],
  defaultScope: [],
  webhookScope: Option.none(),
  accessTokenLifetime: Duration.hours(8),
  refreshTokenIdle: Duration.days(90),
  codeLifetime: Duration.minutes(5),
  maxAccessTokens: 20,
  maxCodes: 20,
  refreshRetry: Duration.minutes(10),
  refreshRetryWithoutKey: Duration.zero,
  replay: "refuse",
  replayGrace: Duration.seconds(60),
  secretOverlap: Duration.days(1),
  callbackTimeout: Duration.seconds(2),
  deliveryDelays: [Duration.seconds(5), Duration.seconds(60)],
  deliveryJitter: 0.2,
  deliveryLease: Duration.seconds(15),
  deliveryClaims: 5,
  // 512 gave 1.07 times the rate, and twice as many attempts again after a crash.
  deliveryConcurrency: 256,
  deliveryPerSubscription: 16,
  deliveryPoll: Duration.seconds(1),
  deliveryRetention: Duration.days(30),
  purgeInterval: Duration.minutes(15),
  purgeBatch: 1000
}

/** The preset for strict clients: follows the RFCs where the documented interface differs. */
export const rfc: Policy.Service = {
  ...documented,
  requireRedirectUri: true,
  acceptAnyLoopback: false,
  acceptQueryParameters: false,
  revokedTokenStatus: 400,
  describeRefusedRevocation: true,
  redirectErrorsBeforeSignIn: false,
  replay: "revoke"
}

/** The scopes to show to clients, each ability once: `read+write` is accepted, but means no more than its parts. */
export const advertised = ({ scopes }: Pick<Policy.Service, "scopes">): ReadonlyArray<string> =>
  scopes.filter((scope) => {
    const parts = scope.split("+")
    return parts.length === 1 || !parts.every((part) => scopes.includes(part))
  })

/** Limits and choices of an installation. Default: `documented`. */
export class Policy extends Context.Reference<Policy>()("@startlist/core/Policy", {
  defaultValue: (): Policy.Service => documented
}) {}
