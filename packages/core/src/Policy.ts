/** The numbers and choices of the service in one place. Nothing has to be provided in the common case. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

export declare namespace Policy {
  export interface Service {
    /**
     * `documented` answers as the documented interface does. `rfc` is for strict clients: 400 instead of 401 for a
     * replaced token, no credentials in the query, `redirect_uri` required at the exchange, no unregistered loopback
     * address, `invalid_client` from revoke.
     */
    readonly profile: "documented" | "rfc"
    /** The scopes that an application may ask for. The interface names none; these are its illustrations. */
    readonly scopes: ReadonlyArray<string>
    /** The scope that an access token needs for the webhook interface, one of `scopes`. Default: none is needed. */
    readonly webhookScope: Option.Option<string>
    /** Lifetime of an access token (requirements §8: 28 800 s). */
    readonly accessTokenLifetime: Duration.Duration
    /** A refresh token that is not used for so long dies. */
    readonly refreshTokenIdle: Duration.Duration
    /** Lifetime of an authorization code; RFC 6749 §4.1.2 allows 10 minutes at most. */
    readonly codeLifetime: Duration.Duration
    /** Within so long after a rotation, its predecessor is a client's double send and not a theft. */
    readonly replayGrace: Duration.Duration
    /** Whether the replay of a replaced refresh token or a used code revokes the grant (RFC 9700 §4.14.2). */
    readonly revokeOnReplay: boolean
    /** How long a rotated client or signing secret stays good beside its successor. */
    readonly secretOverlap: Duration.Duration
    /** A callback has so long to answer, from the start of the attempt (requirements §8: 2 s). */
    readonly callbackTimeout: Duration.Duration
    /** Pauses before the attempts 2, 3, …: their number plus one is the number of attempts (requirements §8: 3). */
    readonly deliveryDelays: ReadonlyArray<Duration.Duration>
    /** Each pause is spread by up to this share of itself, both ways. */
    readonly deliveryJitter: number
    /** How long a claimed delivery belongs to its worker. Well above the callback timeout. */
    readonly deliveryLease: Duration.Duration
    /**
     * Maximum number of claims in a row that may end without an outcome. At the next claim, a delivery is set aside. After
     * half of them, a worker attempts such deliveries one at a time.
     */
    readonly deliveryClaims: number
    /** Attempts in flight, per node. */
    readonly deliveryConcurrency: number
    /** Attempts in flight to one subscription, per node. */
    readonly deliveryPerSubscription: number
    /** How often a worker looks for work when nothing wakes it. */
    readonly deliveryPoll: Duration.Duration
    /** Deliveries that are not pending are kept for so long after they ended. */
    readonly deliveryRetention: Duration.Duration
    /** Names of the platform, as users know it. No application may contain one in its own name. */
    readonly platformNames: ReadonlyArray<string>
    /** Rows that one statement of the purge removes at most. */
    readonly purgeBatch: number
  }
}

/** The documented behaviour (requirements §8 and the decisions in `docs/decisions.md`). */
export const documented: Policy.Service = {
  profile: "documented",
  scopes: ["profile:read", "profile:write", "read", "write", "read+write"],
  webhookScope: Option.none(),
  accessTokenLifetime: Duration.hours(8),
  refreshTokenIdle: Duration.days(90),
  codeLifetime: Duration.minutes(5),
  replayGrace: Duration.seconds(60),
  revokeOnReplay: true,
  secretOverlap: Duration.days(1),
  callbackTimeout: Duration.seconds(2),
  deliveryDelays: [Duration.seconds(5), Duration.seconds(60)],
  deliveryJitter: 0.2,
  deliveryLease: Duration.seconds(15),
  deliveryClaims: 5,
  deliveryConcurrency: 256,
  deliveryPerSubscription: 16,
  deliveryPoll: Duration.seconds(1),
  deliveryRetention: Duration.days(30),
  platformNames: ["Startlist"],
  purgeBatch: 1000
}

/** The preset for strict clients. */
export const rfc: Policy.Service = { ...documented, profile: "rfc" }

export class Policy extends Context.Reference<Policy>()("@startlist/core/Policy", {
  defaultValue: (): Policy.Service => documented
}) {}
