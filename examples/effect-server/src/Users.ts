/** The server's own users and sessions. Yours are in a database, with hashed passwords. */
import { User } from "@startlist/core"
import { Authentication } from "@startlist/pages"
import { Context, Effect, Layer, Option } from "effect"
import { randomBytes } from "node:crypto"

export class Users extends Context.Tag("example/Users")<Users, {
  readonly add: (user: Omit<User.User, "id">, password: string) => User.User
  readonly find: (id: number) => Option.Option<User.User>
  /** Starts a session. Returns its cookie. */
  readonly signIn: (email: string, password: string) => Option.Option<string>
  /** Ends the session of this `Cookie` header if the form belongs to it. */
  readonly signOut: (cookie: string | undefined, csrf: string) => void
  /** The user who sends this `Cookie` header. */
  readonly signedIn: (cookie: string | undefined) => Option.Option<Authentication.SignedIn>
}>() {}

const sessionOf = (cookie: string | undefined): string => /(?:^|; *)session=([\w-]+)/.exec(cookie ?? "")?.[1] ?? ""

export const layer = Layer.sync(Users, () => {
  const users = new Map<number, { readonly user: User.User; readonly password: string }>()
  const sessions = new Map<string, Authentication.SignedIn>()
  return {
    add: (fields, password) => {
      const user = { ...fields, id: User.UserId.make(users.size + 1) }
      users.set(user.id, { user, password })
      return user
    },
    find: (id) => Option.map(Option.fromNullable(users.get(id)), ({ user }) => user),
    signIn: (email, password) => {
      const known = [...users.values()].find(({ user }) => user.email === email)
      if (known === undefined || known.password !== password) return Option.none()
      const session = randomBytes(32).toString("base64url")
      sessions.set(session, { user: known.user, csrf: randomBytes(32).toString("base64url") })
      return Option.some(`session=${session}; Path=/; HttpOnly; SameSite=Lax`)
    },
    signOut: (cookie, csrf) => {
      if (sessions.get(sessionOf(cookie))?.csrf === csrf) sessions.delete(sessionOf(cookie))
    },
    signedIn: (cookie) => Option.fromNullable(sessions.get(sessionOf(cookie)))
  }
})

/** The server's users for Startlist. */
export const layerStore: Layer.Layer<User.UserStore, never, Users> = Layer.effect(
  User.UserStore,
  Effect.map(Users, ({ find }) => ({ find: (id) => Effect.sync(() => find(id)) }))
)

/** The server's sessions for Startlist. */
export const layerAuthentication: Layer.Layer<Authentication.Authentication, never, Users> = Layer.effect(
  Authentication.Authentication,
  Effect.map(Users, ({ signedIn }) => ({
    identify: ({ headers: { cookie } }) => Effect.sync(() => signedIn(typeof cookie === "string" ? cookie : undefined)),
    signInUrl: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
    signOutUrl: "/sign-out"
  }))
)
