/** Turns checked options into the values of the core. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { MasterKeys } from "@startlist/core/Secrets"
import { named, type Platform } from "@startlist/core/Platform"
import { documented, type Policy } from "@startlist/core/Policy"
import { type Block, parseBlock } from "@startlist/dispatcher/AddressGuard"
import type * as Options from "./Options.ts"

/** Names of the settings whose values are durations. */
type TimeName = { [Name in keyof Policy.Service]: Policy.Service[Name] extends Duration.Duration ? Name : never }[
  keyof Policy.Service
]

/** The documented policy with these changes. */
export const policy = (options: Options.Policy = {}): Policy.Service => {
  const given: Options.Policy = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const { deliveryDelays, webhookScope, ...others } = given
  const time = (name: TimeName): Duration.Duration => {
    const value = given[name]
    return value === undefined ? documented[name] : Duration.decode(value)
  }
  return {
    ...documented,
    ...others,
    webhookScope: Option.fromNullable(webhookScope),
    deliveryDelays: deliveryDelays?.map((delay) => Duration.decode(delay)) ?? documented.deliveryDelays,
    accessTokenLifetime: time("accessTokenLifetime"),
    refreshTokenIdle: time("refreshTokenIdle"),
    codeLifetime: time("codeLifetime"),
    refreshRetry: time("refreshRetry"),
    refreshRetryWithoutKey: time("refreshRetryWithoutKey"),
    replayGrace: time("replayGrace"),
    secretOverlap: time("secretOverlap"),
    callbackTimeout: time("callbackTimeout"),
    deliveryLease: time("deliveryLease"),
    deliveryPoll: time("deliveryPoll"),
    deliveryRetention: time("deliveryRetention"),
    purgeInterval: time("purgeInterval")
  }
}

/** The platform with these texts. */
export const platform = (
  { color, guide, logo, name = "Startlist", privacyPolicy, support }: Options.Platform = {}
): Platform.Service => ({
  ...named(name),
  logo: Option.fromNullable(logo),
  color: Option.fromNullable(color),
  support: Option.fromNullable(support),
  privacyPolicy: Option.fromNullable(privacyPolicy),
  guide: Option.fromNullable(guide)
})

/** The networks that callbacks may be in. */
export const blocks = (allow: ReadonlyArray<string> = []): ReadonlyArray<Block> =>
  allow.flatMap((cidr) => Option.toArray(parseBlock(cidr)))

/** The master keys. None: without a key, one is drawn. */
export const keys = (
  { key, retiredKeys = [] }: Pick<Options.WebOptions, "key" | "retiredKeys">
): MasterKeys | undefined =>
  key === undefined ? undefined : { key: Redacted.make(key), retired: retiredKeys.map((one) => Redacted.make(one)) }

/** Removes slashes at the end of `url`, which would break all paths below it. */
export const place = (url: string): string => url.replace(/(?<!\/)\/+$/, "")
