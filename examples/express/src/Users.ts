/** The server's own users and sessions. Yours are in a database, with hashed passwords. */
import type { Startlist } from "@startlist/embed"
import { randomBytes } from "node:crypto"

const users = new Map<number, { readonly user: Startlist.User; readonly password: string }>()

let last = 0

interface Session {
  readonly user: Startlist.User
  /** Token of the forms, so that no other site can post them. */
  readonly csrf: string
}

const sessions = new Map<string, Session>()

/** Adds a user. Returns the identifier. */
export const add = (user: Omit<Startlist.User, "id">, password: string): number => {
  const id = ++last
  users.set(id, { user: { ...user, id }, password })
  return id
}

export const find = (id: number): Startlist.User | undefined => users.get(id)?.user

/** Removes a user and the sessions of the user. The identifier is not used again. */
export const remove = (id: number): void => {
  users.delete(id)
  for (const [key, { user }] of sessions) if (user.id === id) sessions.delete(key)
}

/** Starts a session. Returns its cookie. */
export const signIn = (email: string, password: string): string | undefined => {
  const known = [...users.values()].find(({ user }) => user.email === email)
  if (known === undefined || known.password !== password) return undefined
  const session = randomBytes(32).toString("base64url")
  sessions.set(session, { user: known.user, csrf: randomBytes(32).toString("base64url") })
  return `session=${session}; Path=/; HttpOnly; SameSite=Lax`
}

const sessionOf = (cookie: string | undefined): string => /(?:^|; *)session=([\w-]+)/.exec(cookie ?? "")?.[1] ?? ""

/** The user who sends this `Cookie` header. */
export const signedIn = (cookie: string | undefined): Session | undefined => sessions.get(sessionOf(cookie))

/** Ends the session if the form belongs to it. */
export const signOut = (cookie: string | undefined, csrf: string): void => {
  const session = sessionOf(cookie)
  if (sessions.get(session)?.csrf === csrf) sessions.delete(session)
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(`"`, "&quot;")

/** The server's own sign-in page. */
export const signInPage = (returnTo: string): string =>
  `<!doctype html>
<html lang="en"><title>Sign in</title><form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${escape(returnTo)}">
<label>E-mail <input name="email" type="email"></label>
<label>Password <input name="password" type="password"></label>
<button>Sign in</button></form></html>`

/** Returns the path if it is a page of this server, else "/". */
export const local = (returnTo: string): string => /^\/(?![/\\])[!-~]*$/.test(returnTo) ? returnTo : "/"
