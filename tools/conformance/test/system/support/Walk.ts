/** Runs all steps of one client library, and records the result of each. */
import { expect } from "@effect/vitest"
import type { Browser } from "@startlist/test-support/Browser"
import { athleteStatus, consent, redirectUri } from "@startlist/test-support/Consent"
import { createApplication, type Person } from "@startlist/test-support/Operator"
import type { Begun, Client, Session, Settings, Tokens } from "../clients/Client.ts"
import type { Service } from "./Sites.ts"

export const steps = [
  "discovery",
  "authorize",
  "exchange",
  "refresh",
  "replaced refresh token",
  "introspect",
  "PKCE",
  "revoke"
] as const

export type Step = typeof steps[number]

/** `unreached`: an earlier step was refused. */
export type Outcome =
  | { readonly _tag: "ok"; readonly detail: string }
  | { readonly _tag: "refused"; readonly reason: string }
  | { readonly _tag: "not offered" }
  | { readonly _tag: "unreached" }

export type Outcomes = Readonly<Record<Step, Outcome>>

const ok = (detail = ""): Outcome => ({ _tag: "ok", detail })
const unreached: Outcome = { _tag: "unreached" }

/** The names of all values that can be reached from the exports of a library. */
const namesOf = (surface: unknown, depth = 3, seen = new Set<unknown>()): ReadonlyArray<string> => {
  if (depth === 0 || (typeof surface !== "object" && typeof surface !== "function") || surface === null) return []
  if (seen.has(surface)) return []
  seen.add(surface)
  return Object.entries(Object.getOwnPropertyDescriptors(surface)).flatMap(([name, { value }]) => [
    name,
    ...namesOf(value, depth - 1, seen)
  ])
}

const words: Readonly<Record<"discovery" | "introspect" | "revoke", RegExp>> = {
  discovery: /discover|metadata|well.?known/i,
  introspect: /introspect/i,
  revoke: /revo[kc]/i
}

/** Checks that no export of the library has the name of a step that is "not offered". */
const notOffered = (client: Client, step: keyof typeof words): Outcome => {
  const named = namesOf(client.surface).filter((name) => words[step].test(name))
  expect(named, `${client.library} has something for ${step}, which the matrix does not use`).toEqual([])
  return { _tag: "not offered" }
}

/** The error of a library about an answer. Any other error is a bug of the test. */
const reasonOf = (session: Session, thrown: unknown): string => {
  const { code, status } = session.readError(thrown)
  if (code === undefined && status === undefined) throw thrown
  return [status, code].filter((part) => part !== undefined).join(" ")
}

const attempt = async <A>(session: Session, run: () => Promise<A>): Promise<A | { readonly refused: Outcome }> => {
  try {
    return await run()
  } catch (thrown) {
    return { refused: { _tag: "refused", reason: reasonOf(session, thrown) } }
  }
}

const isRefused = (value: unknown): value is { readonly refused: Outcome } =>
  typeof value === "object" && value !== null && "refused" in value

/** The user who consents, and the browser. */
export interface SignedIn {
  readonly user: Person
  readonly browser: Browser
}

/** A server, an application that is registered there, and a user who allows everything. */
export interface Place {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly allow: (authorizationUrl: string) => Promise<URL>
}

/** A new application at the service, and a user in a browser. */
export const atService = async (service: Service, owner: Person, { browser, user }: SignedIn): Promise<Place> => {
  const { client_id, client_secret } = await createApplication(service, owner, [redirectUri])
  return {
    url: service.url,
    clientId: String(client_id),
    clientSecret: client_secret,
    allow: (url) => consent(url, user, "allow", browser)
  }
}

export const walk = async (service: Place, client: Client): Promise<Outcomes> => {
  const { clientId, clientSecret, url } = service
  const settings: Settings = { url, clientId, clientSecret, redirectUri, scope: "profile:read read" }
  const session = await client.connect(settings)

  const discovery = async (): Promise<Outcome> => {
    if (session.discover === undefined) return notOffered(client, "discovery")
    expect(await session.discover()).toEqual({
      authorization: `${service.url}/oauth/authorize`,
      token: `${service.url}/oauth/token`
    })
    return ok()
  }

  const authorize = async (pkce: boolean): Promise<{ readonly begun: Begun; readonly back: URL }> => {
    const begun = await session.authorize({ pkce })
    expect(new URL(begun.url).searchParams.has("code_challenge")).toBe(pkce)
    const back = await service.allow(begun.url)
    expect(back.searchParams.get("code")).toMatch(/./)
    return { begun, back }
  }

  const works = async ({ access }: Tokens) => expect(await athleteStatus(service, access)).toBe(200)

  const introspect = async (tokens: Tokens): Promise<Outcome> => {
    const { introspect } = session
    if (introspect === undefined) return notOffered(client, "introspect")
    const known = await attempt(session, () => introspect(tokens))
    if (isRefused(known)) return known.refused
    expect(known).toEqual({ active: true, scope: settings.scope })
    return ok()
  }

  const revoke = async (tokens: Tokens): Promise<Outcome> => {
    const { revoke } = session
    if (revoke === undefined) return notOffered(client, "revoke")
    const done = await attempt(session, () => revoke(tokens))
    if (isRefused(done)) return done.refused
    expect(await athleteStatus(service, tokens.access)).toBe(401)
    return ok()
  }

  const exchanged = async (pkce: boolean) => {
    const { back, begun } = await authorize(pkce)
    const tokens = await attempt(session, () => begun.exchange(back))
    if (!isRefused(tokens)) await works(tokens)
    return tokens
  }

  /** The double send: the library must report the error. */
  const replaced = async (used: Tokens): Promise<Outcome> => {
    const answer = await attempt(session, () => session.refresh(used))
    if (!isRefused(answer)) throw new Error("a replaced refresh token was taken")
    expect(answer.refused).toMatchObject({ reason: expect.stringContaining("invalid_grant") })
    return answer.refused._tag === "refused" ? ok(`reads ${answer.refused.reason}`) : answer.refused
  }

  const found = await discovery()
  const first = await exchanged(false)
  if (isRefused(first)) {
    return {
      discovery: found,
      authorize: ok(),
      exchange: first.refused,
      refresh: unreached,
      "replaced refresh token": unreached,
      introspect: session.introspect === undefined ? notOffered(client, "introspect") : unreached,
      PKCE: await exchanged(true).then((tokens) => isRefused(tokens) ? tokens.refused : ok()),
      revoke: session.revoke === undefined ? notOffered(client, "revoke") : unreached
    }
  }
  const fresh = await attempt(session, () => session.refresh(first))
  const current = isRefused(fresh) ? first : fresh
  if (!isRefused(fresh)) await works(fresh)
  const refused = isRefused(fresh) ? unreached : await replaced(first)
  const introspected = await introspect(current)
  const proved = await exchanged(true)
  return {
    discovery: found,
    authorize: ok(),
    exchange: ok(),
    refresh: isRefused(fresh) ? fresh.refused : ok(),
    "replaced refresh token": refused,
    introspect: introspected,
    PKCE: isRefused(proved) ? proved.refused : ok(),
    revoke: await revoke(isRefused(proved) ? current : proved)
  }
}
