/** Where the service stands, seen from outside. */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import type { TokenHash } from "@startlist/core/Secrets"

export declare namespace Site {
  export interface Service {
    /**
     * Public origin of `/oauth/*`, the pages and `/api/v1/athlete`, without a trailing slash. Over https, cookies are
     * `Secure`.
     */
    readonly authUrl: string
    /** Public origin of `/api/v1/webhook_subscription`, without a trailing slash. */
    readonly baseUrl: string
    /** The issuer identifier: named in the metadata (RFC 8414; without one, `authUrl` is) and in redirects (RFC 9207). */
    readonly issuer: Option.Option<string>
    /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
    readonly trustedProxies: ReadonlyArray<string>
    /** The fingerprint of the token with which an operator may introspect every token. */
    readonly operatorToken: Option.Option<TokenHash>
  }
}

/** A service on this machine, for development. */
export const local: Site.Service = {
  authUrl: "http://127.0.0.1:8080",
  baseUrl: "http://127.0.0.1:8080",
  issuer: Option.none(),
  trustedProxies: [],
  operatorToken: Option.none()
}

export class Site extends Context.Reference<Site>()("@startlist/http/Site", {
  defaultValue: (): Site.Service => local
}) {}
