/** Accounts in memory, with passwords in clear: only for tests. */
import { User } from "@startlist/core"
import { Accounts } from "@startlist/http"
import { Context, Effect, Layer, Option, Redacted } from "effect"

export class TestAccounts extends Context.Tag("test/TestAccounts")<TestAccounts, {
  /** Creates a user whose password is `password of <email>`. */
  readonly create: (role: User.Role, email: string) => Effect.Effect<User.User>
}>() {
  static readonly layer = Layer.effectContext(Effect.gen(function*() {
    const users = yield* User.UserStore
    const passwords = new Map<string, { readonly password: string; readonly user: User.User }>()
    const sessions = new Map<string, User.UserId>()
    let started = 0
    const accounts = Accounts.Accounts.of({
      verifyPassword: (email, password) =>
        Effect.sync(() => {
          const found = passwords.get(email.toLowerCase())
          return found !== undefined && found.password === Redacted.value(password)
            ? Option.some(found.user)
            : Option.none()
        }),
      startSession: (userId) =>
        Effect.sync(() => {
          const session = `session${++started}`
          sessions.set(session, userId)
          return Redacted.make(session)
        }),
      findSession: (session) =>
        Effect.suspend(() => {
          const userId = sessions.get(Redacted.value(session))
          return userId === undefined ? Effect.succeedNone : users.find(userId)
        }),
      endSession: (session) => Effect.sync(() => void sessions.delete(Redacted.value(session)))
    })
    return Context.make(Accounts.Accounts, accounts).pipe(Context.add(TestAccounts, {
      create: (role, email) =>
        Effect.gen(function*() {
          const user = yield* Effect.orDie(users.insert({ role, email, firstName: "Ada", lastName: "Lovelace" }))
          passwords.set(email, { password: `password of ${email}`, user })
          return user
        })
    }))
  }))
}
