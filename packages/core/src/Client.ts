/** The authentication of clients by their secret, also by one whose hash another server has made. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Application from "./Application.ts"
import { type Application as Client, type ApplicationId, ApplicationStore, InvalidClient } from "./Application.ts"
import { live } from "./ApplicationSecret.ts"
import { type Fingerprint, Secrets } from "./Secrets.ts"
import { type StoreError, untilSaved } from "./Store.ts"

/** Identifier and secret of a client. */
export interface ClientCredentials<E = never> {
  readonly id: ApplicationId
  readonly secret: Redacted.Redacted<string>
  /** Called with the application once its secret has proven right, before anything else. A failure refuses the request. */
  readonly admit?: (application: Client) => Effect.Effect<void, E>
  /** Network address of the client, which limits checks of imported secrets. Default: empty. */
  readonly address?: string
}

/**
 * Checks secrets against the slow hashes of another server, such as bcrypt. Optional: without it, an imported secret is
 * never right. It must limit its work, because a wrong secret also costs a check.
 */
export class ImportedHashes
  extends Context.Tag("@startlist/core/ImportedHashes")<ImportedHashes, ImportedHashes.Service>()
{}

export declare namespace ImportedHashes {
  export interface Service {
    /** Why a hash cannot be checked, for the message `secret_hash: …`. */
    readonly problem: (hash: string) => Option.Option<string>
    /** Whether this is the secret of the hash. False also for a client and address with too many wrong secrets. */
    readonly matches: (hash: string, client: ClientCredentials<unknown>) => Effect.Effect<boolean, StoreError>
  }
}

/** Whether another server has made this hash of a client secret. Ours is in base64url. */
export const isForeign = (hash: Fingerprint): boolean => hash.includes("$")

/** Makes a function that authenticates a client and continues with its application. No span: refreshes use it. */
export const makeWithClient = Effect.gen(function*() {
  const applications = yield* ApplicationStore
  const secrets = yield* Secrets
  const hashes = yield* Effect.serviceOption(ImportedHashes)

  /** The application, if the secret matches a foreign hash. Saves our hash instead, so that this happens once. */
  const replaceForeign = (
    client: ClientCredentials<unknown>,
    found: Option.Option<Client>,
    hash: Fingerprint,
    now: DateTime.Utc
  ): Effect.Effect<Client, InvalidClient | StoreError> =>
    Effect.gen(function*() {
      const secretsOf = Option.match(found, { onNone: () => [], onSome: ({ secrets }) => live(secrets, now) })
      for (const secret of secretsOf) {
        if (Option.isNone(hashes) || !isForeign(secret.hash)) continue
        if (!(yield* hashes.value.matches(secret.hash, client))) continue
        return yield* untilSaved(Effect.gen(function*() {
          const present = yield* applications.find(client.id)
          // A parallel request may have replaced it.
          const outdated = Option.filter(present, ({ secrets }) => secrets.some((one) => one.hash === secret.hash))
          if (Option.isNone(outdated)) return yield* Application.authenticate(present, hash, now)
          const { secrets, version } = outdated.value
          const replaced = {
            ...outdated.value,
            version: version + 1,
            secrets: secrets.map((one) => one.hash === secret.hash ? { ...one, hash } : one)
          }
          yield* applications.save(replaced)
          return yield* Application.authenticate(Option.some(replaced), hash, now)
        })).pipe(Effect.map((application): Client => application))
      }
      return yield* new InvalidClient({ reason: "unknown" })
    })

  return <A, E, R>(
    client: ClientCredentials<R>,
    now: DateTime.Utc,
    use: (application: Client) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | R | InvalidClient | StoreError> => {
    const { admit, id, secret } = client
    const hash = secrets.hash(Redacted.value(secret))
    const admitted = (application: Client) =>
      admit === undefined ? use(application) : Effect.flatMap(admit(application), () => use(application))
    return Effect.flatMap(applications.find(id), (found): Effect.Effect<A, E | R | InvalidClient | StoreError> => {
      const application = Application.authenticate(found, hash, now)
      if (Either.isRight(application)) return admitted(application.right)
      const { reason } = application.left
      return reason === "unknown" && Option.exists(found, ({ secrets }) => secrets.some((one) => isForeign(one.hash)))
        ? Effect.flatMap(replaceForeign(client, found, hash, now), admitted)
        : Effect.fail(application.left)
    })
  }
})
