/** The users and sessions of a server without Node. */
import type * as Startlist from "@startlist/embed/WebStartlist"

const users = new Map<number, { readonly user: Startlist.User; readonly password: string }>()

const sessions = new Map<string, { readonly user: Startlist.User; readonly csrf: string }>()

/** Adds a user. Returns the identifier. */
export const add = (user: Omit<Startlist.User, "id">, password: string): number => {
  const id = users.size + 1
  users.set(id, { user: { ...user, id }, password })
  return id
}

export const find = (id: number): Startlist.User | undefined => users.get(id)?.user

const sessionOf = (cookie: string | null | undefined): string =>
  /(?:^|; *)session=([\w-]+)/.exec(cookie ?? "")?.[1] ?? ""

/** The user of a `Cookie` header. */
export const signedIn = (cookie: string | undefined) => sessions.get(sessionOf(cookie))

const page = (returnTo: string) =>
  `<!doctype html><title>Sign in</title><form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${returnTo.replaceAll("&", "&amp;").replaceAll(`"`, "&quot;")}">
<input name="email" type="email"><input name="password" type="password"><button>Sign in</button></form>`

/** The page at `/sign-in`. */
export const signInPage = (url: URL): Response =>
  new Response(page(url.searchParams.get("return_to") ?? "/"), { headers: { "content-type": "text/html" } })

/** Handles the form of the page at `/sign-in`. */
export const signIn = async (request: Request): Promise<Response> => {
  const form = new URLSearchParams(await request.text())
  const known = [...users.values()].find(({ user }) => user.email === form.get("email"))
  if (known === undefined || known.password !== form.get("password")) return new Response("", { status: 403 })
  const session = crypto.randomUUID()
  sessions.set(session, { user: known.user, csrf: crypto.randomUUID() })
  const headers = { location: form.get("return_to") ?? "/", "set-cookie": `session=${session}; Path=/; HttpOnly` }
  return new Response(null, { status: 303, headers })
}
