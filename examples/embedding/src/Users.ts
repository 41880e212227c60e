/** The server's own users and sessions. */
import { User } from "@startlist/core"
import { randomBytes } from "node:crypto"

const users: ReadonlyArray<User.User> = [
  {
    id: User.UserId.make(7),
    role: "platform",
    email: "paul@club.example",
    firstName: "Paul",
    lastName: "L"
  },
  {
    id: User.UserId.make(8),
    role: "athlete",
    email: "alice@club.example",
    firstName: "Alice",
    lastName: "M"
  }
]

interface Session {
  readonly user: User.User
  /** Token of the forms, so that no other site can post them. */
  readonly csrf: string
}

const sessions = new Map<string, Session>()

export const find = (id: number): User.User | undefined => users.find((user) => user.id === id)

/** Starts a session. Returns its cookie. Replace this by the sign-in of your server. */
export const signIn = (email: string): string | undefined => {
  const user = users.find((user) => user.email === email)
  if (user === undefined) return undefined
  const session = randomBytes(32).toString("base64url")
  sessions.set(session, { user, csrf: randomBytes(32).toString("base64url") })
  return `session=${session}; Path=/; HttpOnly; SameSite=Lax`
}

const sessionOf = (cookie: string | undefined): string => /(?:^|; *)session=([\w-]+)/.exec(cookie ?? "")?.[1] ?? ""

export const signedIn = (cookie: string | undefined): Session | undefined => sessions.get(sessionOf(cookie))

/** Ends the session if the form belongs to it. */
export const signOut = (cookie: string | undefined, csrf: string): void => {
  const session = sessionOf(cookie)
  if (sessions.get(session)?.csrf === csrf) sessions.delete(session)
}
