/**
 * Keys of the forms that make a secret. A browser shows only the last answer to a form that is sent twice, so both must
 * have the same one. The secret is derived from the key, and nothing is stored: any node can repeat the answer.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type ClientSecret, live } from "@startlist/core/ApplicationSecret"
import { Secrets } from "@startlist/core/Secrets"

/** Age in milliseconds, also in the future of a slower node, at which a form must be loaded again. */
const maxAge = 60 * 60 * 1000

/** The time of the form, and at least 256 bits. */
const pattern = /^([0-9a-z]{1,10})\.[\w-]{1,80}$/

export interface FormKeys {
  /** A key for a new form. */
  readonly make: Effect.Effect<string>
  /** The secret of a form with this key and these values, unless the form is too old. */
  readonly secretOf: (
    key: string | undefined,
    ...values: ReadonlyArray<string | number>
  ) => Effect.Effect<Option.Option<Redacted.Redacted<string>>>
  /** Whether these are the secrets of an application that an earlier form has given this one, and it is live. */
  readonly isIn: (secrets: ReadonlyArray<ClientSecret>, secret: Redacted.Redacted<string>) => Effect.Effect<boolean>
}

export const make: Effect.Effect<FormKeys, never, Secrets> = Effect.map(Secrets, ({ hash, keys, make }) => ({
  make: Effect.zipWith(
    DateTime.now,
    make("claim"),
    (now, random) => `${now.epochMillis.toString(36)}.${Redacted.value(random)}`
  ),
  secretOf: (key = "", ...values) =>
    Effect.map(DateTime.now, ({ epochMillis }) => {
      const [, made = ""] = pattern.exec(key) ?? []
      return Math.abs(epochMillis - Number.parseInt(made, 36)) <= maxAge
        ? Option.some(keys[0].deriveSecret([key, ...values].join("\n")))
        : Option.none()
    }),
  isIn: (secrets, secret) =>
    Effect.map(DateTime.now, (now) => {
      const wanted = hash(Redacted.value(secret))
      return live(secrets, now).some((one) => one.hash === wanted)
    })
}))
