/** Accounts in memory, with plain passwords. Only for tests. */
import { User } from "@startlist/core"
import { Accounts } from "@startlist/pages"
import * as TestUsers from "@startlist/testing/TestUsers"
import { Context, DateTime, Effect, Layer, Option, Redacted } from "effect"

const { PasswordChange, PasswordCheck } = Accounts

export class TestAccounts extends Context.Tag("test/TestAccounts")<TestAccounts, {
  /** Creates a user whose password is `password of <email>`. */
  readonly create: (role: User.Role, email: string) => Effect.Effect<User.User>
  /** Number of checked passwords. */
  readonly passwordChecks: () => number
}>() {
  static readonly layer = Layer.effectContext(Effect.gen(function*() {
    const users = yield* User.UserStore
    const { add } = yield* TestUsers.TestUsers
    const passwords = new Map<string, { readonly password: string; readonly user: User.User }>()
    const sessions = new Map<string, { readonly userId: User.UserId; readonly origin: Accounts.Origin }>()
    const browsers = new Map<string, string>()
    let started = 0
    let checked = 0
    const accounts = Accounts.Accounts.of({
      // Yields, so that parallel checks overlap as slow hashes do.
      verifyPassword: (email, password) =>
        Effect.map(Effect.yieldNow(), () => {
          checked++
          const found = passwords.get(email.toLowerCase())
          if (found === undefined) return PasswordCheck.Unknown()
          const { user } = found
          return found.password === Redacted.value(password)
            ? PasswordCheck.Correct({ user, proof: password })
            : PasswordCheck.Wrong({ user })
        }),
      recognizeBrowser: (value, email) =>
        Effect.succeed(Option.fromNullable(browsers.get(`${Redacted.value(value)} ${email}`))),
      rememberBrowser: ({ email }) =>
        Effect.sync(() => {
          const value = `browser${browsers.size + 1}`
          browsers.set(`${value} ${email}`, value)
          return Redacted.make(value)
        }),
      startSession: ({ user }, origin) =>
        Effect.sync(() => {
          const session = `session${++started}`
          sessions.set(session, { userId: user.id, origin })
          return Option.some(Redacted.make(session))
        }),
      findSession: (session) =>
        Effect.suspend(() => {
          const found = sessions.get(Redacted.value(session))
          return found === undefined ? Effect.succeedNone : users.find(found.userId)
        }),
      endSession: (session) => Effect.sync(() => void sessions.delete(Redacted.value(session))),
      listSessions: (userId) =>
        Effect.map(
          DateTime.now,
          (now) =>
            [...sessions].filter(([, session]) => session.userId === userId)
              .map(([id, { origin }]) => ({ id, origin, startedAt: now, seenAt: now }))
        ),
      idOf: (session) => Redacted.value(session),
      endById: (_, id) => Effect.sync(() => void sessions.delete(id)),
      endOthers: () => Effect.void,
      changePassword: () => Effect.succeed(PasswordChange.Refused()),
      findReset: () => Effect.succeedNone,
      resetPassword: () => Effect.succeed(PasswordChange.Refused())
    })
    return Context.make(Accounts.Accounts, accounts).pipe(Context.add(TestAccounts, {
      passwordChecks: () => checked,
      create: (role, email) =>
        Effect.gen(function*() {
          const user = yield* add({ role, email, firstName: "Ada", lastName: "Lovelace" })
          passwords.set(email, { password: `password of ${email}`, user })
          return user
        })
    }))
  }))
}
