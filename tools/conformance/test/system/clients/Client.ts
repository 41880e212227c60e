/** The steps that each client library performs, as its own documentation shows them. */

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

/** The part of a library's error that a program can read. */
export interface ReadError {
  readonly code: string | undefined
  readonly status: number | undefined
}

/** A started authorization: the address for the browser, and the exchange of the returned address. */
export interface Begun {
  readonly url: string
  readonly exchange: (back: URL) => Promise<Tokens>
}

/** A library that is set up for one application. Steps that it does not offer are absent. */
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
  readonly transport: "body" | "Basic header"
  /** The exports of the library, in which absent steps are searched. */
  readonly surface: object
  readonly connect: (settings: Settings) => Promise<Session>
}

/** A property of a value of unknown type. */
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
