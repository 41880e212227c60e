/** What the matrix asks of a client library. Each library is driven as its own documentation says. */

/** An application that is registered at the service, and where the service is. */
export interface Settings {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
  readonly scope: string
}

export interface Tokens {
  readonly access: string
  readonly refresh: string
}

/** The endpoints that a library works with. */
export interface Endpoints {
  readonly authorization: string | undefined
  readonly token: string | undefined
}

/** What a program can read of an error that its library throws. */
export interface ReadError {
  readonly code: string | undefined
  readonly status: number | undefined
}

/** An authorization that was begun: where the browser is sent, and what is done with the address it comes back to. */
export interface Begun {
  readonly url: string
  readonly exchange: (back: URL) => Promise<Tokens>
}

/** A library that was set up for one application. What it does not offer is absent. */
export interface Session {
  /** Reads the metadata (RFC 8414). */
  readonly discover?: () => Promise<Endpoints>
  readonly authorize: (options: { readonly pkce: boolean }) => Promise<Begun>
  readonly refresh: (tokens: Tokens) => Promise<Tokens>
  readonly introspect?: (tokens: Tokens) => Promise<{ readonly active: boolean; readonly scope: string | undefined }>
  readonly revoke?: (tokens: Tokens) => Promise<void>
  readonly readError: (thrown: unknown) => ReadError
}

export interface Client {
  /** The name on npm. */
  readonly library: string
  /** How it sends the client's secret. */
  readonly transport: "body" | "Basic header" | "query"
  /** What the library exports: what is said to be absent is looked for here. */
  readonly surface: object
  readonly connect: (settings: Settings) => Promise<Session>
}

/** A property of something of unknown shape. */
export const property = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (inner, name) => typeof inner === "object" && inner !== null ? Reflect.get(inner, name) : undefined,
    value
  )

export const stringAt = (value: unknown, ...path: ReadonlyArray<string>): string | undefined => {
  const found = property(value, ...path)
  return typeof found === "string" ? found : undefined
}

export const numberAt = (value: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const found = property(value, ...path)
  return typeof found === "number" ? found : undefined
}

/** The pair of a token response. Fails if one of them is missing. */
export const toTokens = (access: unknown, refresh: unknown): Tokens => {
  if (typeof access !== "string" || typeof refresh !== "string") throw new TypeError("no pair of tokens came back")
  return { access, refresh }
}
