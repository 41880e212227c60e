/** Public addresses, trusted proxies and other settings of the HTTP side. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Fingerprint } from "@startlist/core/Secrets"

/** An API that accepts access tokens of this service. */
export interface Resource {
  /** Its public URL: an origin and, optionally, a path. No two resources of a service may have the same path. */
  readonly url: string
  /** The scopes that a client may need. Default: all that the service advertises. */
  readonly scopes?: ReadonlyArray<string>
}

export declare namespace HttpConfig {
  export interface Service {
    /**
     * Public address of `/oauth/*`, the pages and `/api/v1/athlete`, without a trailing slash: an origin, and the path
     * under which they are mounted, if any (`https://club.example/connect`). Over https, cookies are `Secure`.
     */
    readonly authUrl: string
    /** Public address of `/api/v1/webhook_subscription`, without a trailing slash. */
    readonly baseUrl: string
    /** The issuer identifier: named in the metadata (RFC 8414; without one, `authUrl` is) and in redirects (RFC 9207). */
    readonly issuer: Option.Option<string>
    /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
    readonly trustedProxies: ReadonlyArray<string>
    /** The fingerprint of the token with which an operator may introspect every token. */
    readonly operatorToken: Option.Option<Fingerprint>
    /** Your own APIs that accept our access tokens: their metadata are served, so that clients find this service. */
    readonly resources: ReadonlyArray<Resource>
  }
}

/** A service on this machine, for development. */
export const local: HttpConfig.Service = {
  authUrl: "http://127.0.0.1:8080",
  baseUrl: "http://127.0.0.1:8080",
  issuer: Option.none(),
  trustedProxies: [],
  operatorToken: Option.none(),
  resources: []
}

/**
 * Settings of the HTTP side.
 *
 * @example
 * ```ts
 * import { HttpConfig } from "@startlist/http"
 * import { Layer } from "effect"
 *
 * export const layer = Layer.succeed(HttpConfig.HttpConfig, {
 *   ...HttpConfig.local,
 *   authUrl: "https://club.example/connect",
 *   baseUrl: "https://club.example/connect"
 * })
 * ```
 */
export class HttpConfig extends Context.Tag("@startlist/http/HttpConfig")<HttpConfig, HttpConfig.Service>() {}

/** `local`, for development and tests. */
export const layerLocal: Layer.Layer<HttpConfig> = Layer.succeed(HttpConfig, local)

/** Splits a URL. The path is empty if there is none. */
export const partsOf = (url: string): readonly [origin: string, path: string] => {
  const [, origin = "", path = ""] = /^([a-z]+:\/\/[^/]+)(\/.*)?$/i.exec(url) ?? []
  return [origin, path]
}

/** The path under which the routes are mounted, such as `/connect`, or empty. */
export const basePath = ({ authUrl }: Pick<HttpConfig.Service, "authUrl">): string => partsOf(authUrl)[1]

/** The origin of our pages, as a browser names it. */
export const originOf = ({ authUrl }: Pick<HttpConfig.Service, "authUrl">): string => partsOf(authUrl)[0]

/** Path of the metadata. The path of the issuer follows the well-known one (RFC 8414 §3.1). */
export const metadataPath = ({ authUrl, issuer }: Pick<HttpConfig.Service, "authUrl" | "issuer">): string =>
  `/.well-known/oauth-authorization-server${partsOf(Option.getOrElse(issuer, () => authUrl))[1]}`

/** The path below which the metadata of protected resources are: that of the service itself has this path. */
export const resourceMetadataRoot = "/.well-known/oauth-protected-resource"

/** Path of the metadata of a resource. The path of the resource follows the well-known one (RFC 9728 §3.1). */
export const resourceMetadataPath = ({ url }: Pick<Resource, "url">): string => {
  const [, path] = partsOf(url)
  return path === "/" ? resourceMetadataRoot : `${resourceMetadataRoot}${path}`
}

/** URL of the metadata of a resource. */
export const resourceMetadataUrl = (resource: Pick<Resource, "url">): string =>
  partsOf(resource.url)[0] + resourceMetadataPath(resource)
