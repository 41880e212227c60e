/** The service's own sign-in: passwords hashed with argon2id, sessions stored as hashes. */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type Fingerprint, Secrets } from "@startlist/core/Secrets"
import { StoreError, Text } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import { Accounts, PasswordChange, PasswordCheck } from "@startlist/pages/Accounts"
import { Busy } from "@startlist/http/Refusal"
import type { EmailTaken, NewUser } from "@startlist/postgres/Users"
import type { MasterKeys } from "../settings/Setting.ts"
import { shared } from "../SharedWork.ts"
import { type Account, AccountStore, isLive, isStale, noPassword } from "./AccountStore.ts"
import * as SignedTokens from "./SignedTokens.ts"
import { type Keys, keysFrom } from "./SignedTokens.ts"

/** Registers users who sign in with a password. */
export class Registrar extends Context.Tag("@startlist/node/Registrar")<Registrar, Registrar.Service>() {}

export declare namespace Registrar {
  export interface Service {
    /** Stores a new user and the argon2id hash of the password. */
    readonly register: (
      user: NewUser,
      password: Redacted.Redacted<string>
    ) => Effect.Effect<User, EmailTaken | StoreError>
    /**
     * A token with which this user can choose another password once. None if no user with a password has this
     * identifier.
     */
    readonly makeReset: (
      id: UserId
    ) => Effect.Effect<
      Option.Option<{ readonly token: Redacted.Redacted<string>; readonly expiresAt: DateTime.Utc }>,
      StoreError
    >
  }
}

/** Loaded with the first password. */
const argon2 = () => import("@node-rs/argon2")

/** Whether a hash has the parameters with which the library hashes. All others come from an import. */
const isOurs = (hash: string): boolean => hash.startsWith("$argon2id$v=19$m=19456,t=2,p=1$")

/** Maximum number of passwords hashed in parallel: each takes 19 MiB and a thread for about 20 ms. */
const parallelHashes = 4

/** Maximum number of passwords that wait, for about a second. Further sign-ins are refused and can be retried. */
const waitingHashes = 40

/** Normalizes the characters: keyboards compose the same password differently. */
const clear = (password: Redacted.Redacted<string>): string => Redacted.value(password).normalize("NFC")

const isText = Schema.is(Text)

/** Lengths in characters, not in UTF-16 units. */
const minLength = 8
const maxLength = 1000

/** Whether a password is one of the most common ones of published leaks. Their list takes 16 MB once it is loaded. */
const isCommon = (password: string): Effect.Effect<boolean> =>
  Effect.map(
    Effect.promise(() => import("@zxcvbn-ts/language-common")),
    // The bundle of the program has nothing else of a CommonJS module.
    ({ default: { dictionary } }) => dictionary["passwords-common"].includes(password.toLowerCase())
  )

/** Whether a password has a length that the rule allows. */
export const hasLength = (password: string): boolean => {
  const { length } = [...password.normalize("NFC")]
  return length >= minLength && length <= maxLength
}

/**
 * Whether a new password follows the rule (NIST SP 800-63B §3.1.1.2): a minimum length, and no common password. Stored
 * passwords are not checked.
 */
export const isAcceptable = (password: string): Effect.Effect<boolean> =>
  hasLength(password) ? Effect.map(isCommon(password), (isKnown) => !isKnown) : Effect.succeed(false)

/** Message about a password that is not acceptable. */
export const passwordRule =
  `must be text of ${minLength} to ${maxLength} characters, and not one of the most common passwords`

/** Keys that sign device cookies and password reset links. */
interface AccountKeys {
  readonly device: Keys
  readonly reset: Keys
}

const make = (keys: AccountKeys) =>
  Effect.gen(function*() {
    const store = yield* AccountStore
    const secrets = yield* Secrets
    const permits = yield* Effect.makeSemaphore(parallelHashes)
    // Not `withPermits`: an interruption while it takes a permit would lose the permit.
    const turn = <A, E>(hashing: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.acquireUseRelease(permits.take(1), () => hashing, () => permits.release(1))
    let checks = 0

    /** OWASP's argon2id parameters (19 MiB, 2 passes, 1 lane) are the library's defaults. */
    const toHash = (password: string) => turn(Effect.promise(async () => (await argon2()).hash(password)))
    const matches = (stored: string, password: Redacted.Redacted<string>) =>
      turn(Effect.tryPromise({
        try: async () =>
          isOurs(stored)
            ? (await argon2()).verify(stored, clear(password))
            : (await import("./ForeignHash.ts")).matches(stored, Redacted.value(password)),
        catch: (cause) => new StoreError({ cause })
      }))

    /** Refuses a check if the queue is full, so that waiting times stay short. */
    const inBoundedQueue = <A, E>(check: Effect.Effect<A, E>): Effect.Effect<A, Busy | E> =>
      Effect.suspend((): Effect.Effect<A, Busy | E> => {
        if (checks >= parallelHashes + waitingHashes) return Effect.fail(new Busy())
        checks++
        return Effect.ensuring(check, Effect.sync(() => checks--))
      })

    /** Verified for an unknown user, or one without a password, so that the response takes the same time. */
    const decoy = yield* shared(toHash(randomBytes(16).toString("base64")))

    const verify = (email: string, password: Redacted.Redacted<string>): Effect.Effect<PasswordCheck, StoreError> =>
      Effect.gen(function*() {
        const account = isText(email) ? yield* store.findByEmail(email) : Option.none()
        const hash = Option.map(account, ({ passwordHash }) => passwordHash)
        const stored = Option.isSome(hash) && hash.value !== noPassword ? hash.value : yield* decoy
        const isCorrect = yield* matches(stored, password)
        if (Option.isNone(account)) return PasswordCheck.Unknown()
        const { disabled, user } = account.value
        // A disabled user gets the same answer as for a wrong password.
        if (!isCorrect || disabled) return PasswordCheck.Wrong({ user })
        if (isOurs(stored)) return PasswordCheck.Correct({ user, proof: Redacted.make(stored) })
        const to = yield* toHash(clear(password))
        const isReplaced = yield* store.replacePassword({ id: user.id, from: stored, to })
        // Otherwise another sign-in has replaced it, or the password was changed: check again.
        return isReplaced ? PasswordCheck.Correct({ user, proof: Redacted.make(to) }) : yield* verify(email, password)
      })

    const verifyPassword = Effect.fn("Accounts.verifyPassword")(verify, inBoundedQueue)

    const startSession: Accounts.Service["startSession"] = Effect.fn("Accounts.startSession")(
      function*({ proof, user }, origin) {
        const value = `sl_se_${randomBytes(32).toString("base64url")}`
        const now = yield* DateTime.now
        const session = { hash: secrets.hash(value), userId: user.id, startedAt: now, seenAt: now, origin }
        const isStarted = yield* store.insertSession(session, Redacted.value(proof))
        return isStarted ? Option.some(Redacted.make(value)) : Option.none()
      }
    )

    const findSession = Effect.fn("Accounts.findSession")(function*(value: Redacted.Redacted<string>) {
      const hash = secrets.hash(Redacted.value(value))
      const now = yield* DateTime.now
      const found = Option.filter(yield* store.findSession(hash), ({ session }) => isLive(session, now))
      if (Option.exists(found, ({ session }) => isStale(session, now))) yield* store.touchSession(hash, now)
      return Option.map(found, ({ user }) => user)
    })

    const idOf: Accounts.Service["idOf"] = (value) => secrets.hash(Redacted.value(value))

    const listSessions: Accounts.Service["listSessions"] = (userId) =>
      Effect.zipWith(store.listSessions(userId), DateTime.now, (sessions, now) =>
        sessions.filter((session) =>
          isLive(session, now)
        ).map(({ hash, origin, seenAt, startedAt }) => ({
          id: hash,
          origin,
          seenAt,
          startedAt
        })))

    const endById: Accounts.Service["endById"] = (userId, id) =>
      Effect.flatMap(store.listSessions(userId), (sessions) =>
        Effect.forEach(
          sessions.filter(({ hash }) =>
            hash === id
          ),
          ({ hash }) => store.removeSession(hash),
          { discard: true }
        ))

    const endOthers: Accounts.Service["endOthers"] = (userId, value) =>
      Effect.asVoid(store.endSessions(userId, secrets.hash(Redacted.value(value))))

    /** Replaces the password of an account. Refused if it has changed since the account was read. */
    const replace = (
      { passwordHash, user }: Account,
      next: Redacted.Redacted<string>,
      keeping: { readonly except?: Fingerprint } = {}
    ) =>
      Effect.gen(function*() {
        const isAllowed = isText(Redacted.value(next)) && (yield* isAcceptable(Redacted.value(next)))
        if (!isAllowed) return PasswordChange.Unacceptable()
        const to = yield* toHash(clear(next))
        const isReplaced = yield* store.replacePassword({ id: user.id, from: passwordHash, to, ...keeping })
        return isReplaced ? PasswordChange.Changed({ user }) : PasswordChange.Refused()
      })

    const changePassword = Effect.fn("Accounts.changePassword")(
      function*(
        session: Redacted.Redacted<string>,
        { next, present }: { readonly present: Redacted.Redacted<string>; readonly next: Redacted.Redacted<string> }
      ) {
        const user = yield* findSession(session)
        const account = Option.isSome(user) ? yield* store.find(user.value.id) : Option.none()
        if (Option.isNone(account)) return PasswordChange.Refused()
        return (yield* matches(account.value.passwordHash, present))
          ? yield* replace(account.value, next, { except: secrets.hash(Redacted.value(session)) })
          : PasswordChange.Refused()
      },
      inBoundedQueue
    )

    /** The account of a reset link. None if the user is disabled. */
    const resettable = (token: Redacted.Redacted<string>) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const id = SignedTokens.claimedUser(Redacted.value(token), now)
        const account = Option.isSome(id) ? yield* store.find(id.value) : Option.none()
        return Option.filter(
          account,
          ({ disabled, passwordHash, user }) =>
            !disabled && SignedTokens.isGenuineReset(keys.reset, Redacted.value(token), user.id, passwordHash)
        )
      })

    const resetPassword = Effect.fn("Accounts.resetPassword")(
      function*(token: Redacted.Redacted<string>, next: Redacted.Redacted<string>) {
        const account = yield* resettable(token)
        return Option.isSome(account) ? yield* replace(account.value, next) : PasswordChange.Refused()
      },
      inBoundedQueue
    )

    const makeReset = Effect.fn("Registrar.makeReset")(function*(id: UserId) {
      const expiresAt = DateTime.addDuration(yield* DateTime.now, SignedTokens.resetLifetime)
      return Option.map(yield* store.find(id), ({ passwordHash }) => ({
        token: Redacted.make(SignedTokens.makeReset(keys.reset, id, passwordHash, expiresAt.epochMillis)),
        expiresAt
      }))
    })

    const endSession = (value: Redacted.Redacted<string>) => store.removeSession(secrets.hash(Redacted.value(value)))

    const register = Effect.fn("Registrar.register")(function*(user: NewUser, password: Redacted.Redacted<string>) {
      return yield* store.insert(user, yield* toHash(clear(password)))
    })

    const recognizeBrowser: Accounts.Service["recognizeBrowser"] = (value, email) =>
      Effect.map(
        Clock.currentTimeMillis,
        (now) => SignedTokens.browserOf(keys.device, Redacted.value(value), email, now)
      )

    const rememberBrowser: Accounts.Service["rememberBrowser"] = ({ email }, previous) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        Redacted.make(SignedTokens.extendCookie(
          keys.device,
          Option.getOrElse(Option.map(previous, Redacted.value), () => ""),
          email,
          now
        )))

    return Context.make(Accounts, {
      changePassword,
      endById,
      endOthers,
      endSession,
      findReset: (token) => Effect.map(resettable(token), Option.map(({ user }) => user)),
      findSession,
      idOf,
      listSessions,
      resetPassword,
      recognizeBrowser,
      rememberBrowser,
      startSession,
      verifyPassword
    }).pipe(Context.add(Registrar, { makeReset, register }))
  })

/** Accounts whose cookies and links are signed with keys derived from these master keys: valid on all nodes. */
export const layerWith = (
  masterKeys: MasterKeys
): Layer.Layer<Accounts | Registrar, never, AccountStore | Secrets> =>
  Layer.effectContext(
    Effect.suspend(() =>
      make({ device: keysFrom(masterKeys, "device cookie"), reset: keysFrom(masterKeys, "password reset") })
    )
  )

/** Accounts whose device cookies and links are valid until the process ends. */
export const layer: Layer.Layer<Accounts | Registrar, never, AccountStore | Secrets> = Layer.effectContext(
  Effect.suspend(() => make({ device: [randomBytes(32)], reset: [randomBytes(32)] }))
)
