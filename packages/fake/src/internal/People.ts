/** The users of a fake, who sign in with one click. */
import type { Startlist } from "@startlist/embed"
import { randomBytes } from "node:crypto"

/** A user of the fake. */
export type User = Startlist.User

/** One of each role. */
export const everyone: ReadonlyArray<Omit<User, "id">> = [
  { role: "platform", email: "paul@platform.example", firstName: "Paul", lastName: "Lambert" },
  { role: "athlete", email: "alice@athletes.example", firstName: "Alice", lastName: "Moreau" },
  { role: "organizer", email: "olga@races.example", firstName: "Olga", lastName: "Petit" },
  { role: "club", email: "carl@club.example", firstName: "Carl", lastName: "Roux" }
]

const escape = (text: string): string => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)

/** A path of this server, to prevent redirects to other servers. */
const isOwnPath = (path: string): boolean => /^\/(?!\/)[!-~]*$/.test(path) && !path.includes("\\")

const cookieOf = (headers: Startlist.SignIn["identify"] extends (request: infer R) => unknown ? R : never): string => {
  const { cookie } = headers.headers
  return /(?:^|; )fake_session=([\w-]+)/.exec(typeof cookie === "string" ? cookie : "")?.[1] ?? ""
}

/** No users. */
export const make = () => {
  const users = new Map<number, User>()
  const sessions = new Map<string, { readonly user: User; readonly csrf: string }>()
  const secret = () => randomBytes(24).toString("base64url")

  const signIn: Startlist.SignIn = {
    identify: (request) => sessions.get(cookieOf(request)),
    signInUrl: (returnTo) => `/fake/sign-in?return_to=${encodeURIComponent(returnTo)}`,
    signOutUrl: "/fake/sign-out"
  }

  return {
    signIn,
    find: (id: number): User | undefined => users.get(id),
    /** By identifier or e-mail address. */
    named: (name: number | string): User | undefined =>
      [...users.values()].find(({ email, id }) => id === Number(name) || email === name),
    all: (): ReadonlyArray<User> => [...users.values()],
    add: (fields: Omit<User, "id">): User => {
      const user = { ...fields, id: users.size + 1 }
      users.set(user.id, user)
      return user
    },
    /** The page to choose a user. */
    page: (returnTo: string): string =>
      `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Who are you?</title>
<h1>Who are you?</h1><p>This service is a fake. Choose a user; there is no password.</p>
<form method="post" action="/fake/sign-in"><input type="hidden" name="return_to" value="${escape(returnTo)}">
${
        [...users.values()].map(({ email, id, role }) =>
          `<p><button name="user" value="${id}">${escape(email)} (${role})</button></p>`
        ).join("\n")
      }
</form></html>`,
    /** Starts a session of this user: a cookie and a redirect. */
    enter: (user: User, returnTo: string): { readonly cookie: string; readonly location: string } => {
      const session = secret()
      sessions.set(session, { user, csrf: secret() })
      return {
        cookie: `fake_session=${session}; Path=/; HttpOnly; SameSite=Lax`,
        location: isOwnPath(returnTo) ? returnTo : "/account/applications"
      }
    }
  }
}

/** The users and their sessions. */
export type People = ReturnType<typeof make>
