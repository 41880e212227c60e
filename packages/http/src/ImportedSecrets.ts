/** Client secrets whose hashes another server has made, such as bcrypt: checks within limits. */
import { type ClientCredentials, ImportedHashes } from "@startlist/core/Client"
import { StoreError } from "@startlist/core/Store"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { clientKeys, FailureLimit } from "./FailureLimit.ts"

/** How to check a hash. */
export interface Checks {
  /** Why a hash cannot be checked, for the message `secret_hash: …`. */
  readonly problem: (hash: string) => Option.Option<string>
  /** Whether this is the secret of the hash. A rejection counts as an unavailable store. */
  readonly matches: (hash: string, secret: string) => Promise<boolean>
}

/** Maximum number of client secrets that are checked in parallel, and that wait, per process. */
const [parallel, waiting] = [2, 40]

/**
 * Checks imported client secrets. A wrong secret costs as much as a right one, so a client and network with too many
 * failures gets no check, and few run at the same time. Parallel requests with one secret share one check: the first ones
 * of a busy client are many.
 */
export const layerWith = ({ matches, problem }: Checks): Layer.Layer<ImportedHashes, never, FailureLimit> =>
  Layer.effect(
    ImportedHashes,
    Effect.gen(function*() {
      const failures = yield* FailureLimit
      const permits = yield* Effect.makeSemaphore(parallel)
      let checks = 0
      const check = (hash: string, secret: Redacted.Redacted<string>) =>
        Effect.acquireUseRelease(
          permits.take(1),
          () =>
            Effect.tryPromise({
              try: () => matches(hash, Redacted.value(secret)),
              catch: (cause) => new StoreError({ cause })
            }),
          () => permits.release(1)
        )
      const inBoundedQueue = <A, E>(one: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
        Effect.suspend((): Effect.Effect<A, E | StoreError> => {
          if (checks >= parallel + waiting) {
            return new StoreError({ cause: "too many imported secrets are being checked" })
          }
          checks++
          return Effect.ensuring(one, Effect.sync(() => checks--))
        })
      const checkWithinLimits = (hash: string, { address = "", id, secret }: ClientCredentials<unknown>) => {
        const keys = clientKeys(id, address)
        // Taken while it runs, so that parallel guesses do not exceed the limit. The refusal counts a failure itself.
        return Effect.acquireUseRelease(
          failures.take(keys),
          (wait) => Option.isSome(wait) ? Effect.succeed(false) : inBoundedQueue(check(hash, secret)),
          (wait) => Option.isSome(wait) ? Effect.void : failures.giveBack(keys)
        )
      }
      const running = new Map<string, Deferred.Deferred<boolean, StoreError>>()
      const shared = (hash: string, client: ClientCredentials<unknown>): Effect.Effect<boolean, StoreError> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.suspend(() => {
            const key = JSON.stringify([hash, client.id, client.address, Redacted.value(client.secret)])
            const known = running.get(key)
            if (known !== undefined) return restore(Deferred.await(known))
            const outcome = Deferred.unsafeMake<boolean, StoreError>(FiberId.none)
            running.set(key, outcome)
            const checking = Effect.ensuring(checkWithinLimits(hash, client), Effect.sync(() => running.delete(key)))
            // In a fiber of its own: the others wait for it, also if the first client disconnects.
            return Effect.zipRight(
              Effect.forkDaemon(Effect.intoDeferred(checking, outcome)),
              restore(Deferred.await(outcome))
            )
          })
        )
      return { problem, matches: shared }
    })
  )
