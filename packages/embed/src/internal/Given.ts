/** Turns plain options into the values of the core. Wrong ones throw a `TypeError` that names the option. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { MasterKeys } from "@startlist/core/MasterKey"
import { named, type Platform } from "@startlist/core/Platform"
import { documented, type Policy } from "@startlist/core/Policy"
import { type Block, parseBlock } from "@startlist/dispatcher/AddressGuard"
import type * as Options from "./Options.ts"

/** A duration of the option with this name. */
export const duration = (name: string, given: Options.Duration): Duration.Duration =>
  Option.getOrThrowWith(
    Duration.decodeUnknown(given),
    () => new TypeError(`${name}: ${JSON.stringify(given)} is no duration; use milliseconds, or "10 seconds"`)
  )

/** Names of the settings whose values are durations. */
type TimeName = { [Name in keyof Policy.Service]: Policy.Service[Name] extends Duration.Duration ? Name : never }[
  keyof Policy.Service
]

/** The documented policy with these changes. */
export const policy = (given: Options.Policy = {}): Policy.Service => {
  const unknown = Object.keys(given).find((name) => !(name in documented))
  if (unknown !== undefined) throw new TypeError(`policy: there is no setting ${JSON.stringify(unknown)}`)
  const { deliveryDelays, webhookScope, ...others } = given
  const time = (name: TimeName): Duration.Duration => {
    const value = given[name]
    return value === undefined ? documented[name] : duration(`policy.${name}`, value)
  }
  return {
    ...documented,
    ...others,
    webhookScope: Option.fromNullable(webhookScope),
    deliveryDelays: deliveryDelays?.map((delay) => duration("policy.deliveryDelays", delay)) ??
      documented.deliveryDelays,
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
  allow.map((cidr) =>
    Option.getOrThrowWith(
      parseBlock(cidr),
      () => new TypeError(`callbacks.allow: ${JSON.stringify(cidr)} is no network such as 10.1.0.0/16`)
    )
  )

/** The master keys. None: without a key, one is drawn. */
export const keys = (
  { key, retiredKeys = [] }: Pick<Options.WebOptions, "key" | "retiredKeys">
): MasterKeys | undefined =>
  key === undefined ? undefined : { key: Redacted.make(key), retired: retiredKeys.map((one) => Redacted.make(one)) }

/** An origin, and optionally a path. A quotation mark would end the value in a challenge. */
const address = /^https?:\/\/[^/?#\s"]+(?:\/[^?#\s"]*)?$/i

/** Checks the URLs of the server's own resources. */
export const resources = (given: ReadonlyArray<Options.Resource> = []): ReadonlyArray<Options.Resource> => {
  const wrong = given.find(({ url }) => !address.test(url))
  if (wrong === undefined) return given
  throw new TypeError(
    `resources: ${JSON.stringify(wrong.url)} must be an http or https address without query: https://club.example/mcp`
  )
}

/** Checks `url` and removes slashes at its end, which would break all paths below it. */
export const place = (url: string): string => {
  const place = url.replace(/(?<!\/)\/+$/, "")
  if (address.test(place)) return place
  throw new TypeError("url must be an http or https address without query: https://club.example/connect")
}
