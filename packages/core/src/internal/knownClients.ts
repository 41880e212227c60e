/** Clients whose application is not found again for each refresh: a copy of it is compared with the one of the grant. */
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Application from "../Application.ts"
import type { ClientCredentials, makeWithClient } from "../Client.ts"
import type { Found } from "../Grant.ts"
import { Secrets } from "../Secrets.ts"
import { InvalidGrant } from "../TokenRequest.ts"

/** The copy is of another version than the application of the grant. Nothing was done. */
export class Outdated extends Schema.TaggedError<Outdated>()("@startlist/core/Outdated", {}) {}

export const outdated = new Outdated()

/** Whether the application that was found with a grant is the one that has proven its secret. */
export type IsCurrent = (found: Found) => boolean

const isOutdated = (error: unknown): error is Outdated => error instanceof Outdated

/** With an application that was just found, nothing is outdated. */
export const certain = <A, E>(use: (isCurrent: IsCurrent) => Effect.Effect<A, E | Outdated>) =>
  Effect.catchIf(use(() => true), isOutdated, Effect.die)

/** Maximum number of copies. */
const most = 1000

/** Whether there may be no grant, and therefore no application to compare a copy with. */
const isUnknown = (error: unknown): boolean => error instanceof InvalidGrant && error.reason === "unknown"

/**
 * Makes a function that authenticates a client by the copy of its last refresh, and continues. `use` fails as `outdated`
 * before it decides anything, if the application of the grant is not current. Then the application is found, as for a first
 * request; also if the secret is wrong, `admit` refuses, or there is no grant. So no refusal depends on a copy.
 */
export const makeWithKnownClient = (withClient: Effect.Effect.Success<typeof makeWithClient>) =>
  Effect.map(Secrets, ({ hash }) => {
    const copies = new Map<Application.ApplicationId, Application.Application>()
    const remember = (application: Application.Application) => {
      if (copies.size >= most) copies.clear()
      copies.set(application.id, application)
    }
    return <A, E, R>(
      client: ClientCredentials<R>,
      now: DateTime.Utc,
      use: (isCurrent: IsCurrent) => Effect.Effect<A, E | Outdated>
    ) => {
      const { admit, id, secret } = client
      const found = Effect.suspend(() =>
        withClient(client, now, (application) => {
          remember(application)
          return certain(use)
        })
      )
      const copy = Option.fromNullable(copies.get(id))
      const known = Application.authenticate(copy, hash(Redacted.value(secret)), now)
      if (Either.isLeft(known)) return found
      const { right: application } = known
      let isChecked = false
      const isCurrent: IsCurrent = ({ application: { version } }) => isChecked ||= version === application.version
      const used = use(isCurrent).pipe(
        Effect.catchIf(
          (error) => !isChecked && isUnknown(error),
          (error) => withClient(client, now, () => Effect.fail(error))
        ),
        // Last: what was found needs no other check.
        Effect.catchIf(isOutdated, () => found)
      )
      return admit === undefined
        ? used
        : Effect.matchEffect(admit(application), { onFailure: () => found, onSuccess: () => used })
    }
  })
