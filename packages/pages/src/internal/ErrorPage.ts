/** Error pages. */
import type { HttpConfig } from "@startlist/http/HttpConfig"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Templates } from "../Templates.ts"
import { idOf, redirect, type Request, type Response } from "@startlist/http/Http"
import { describe } from "@startlist/http/Refusal"
import type { Refuse } from "@startlist/http/Router"
import * as Locale from "./Locale.ts"
import type { ErrorKind } from "./English.ts"
import * as Page from "./Page.ts"

/** Details of an error page. */
export interface Options {
  readonly headers?: Response["headers"]
  readonly locale?: Locale.Locale
  /** Address at which the user can start again. */
  readonly again?: string
  /** The signed-in user, for the button to sign out. */
  readonly seen?: Pick<Page.Frame, "signOutUrl" | "signedIn">
}

/** Answers that are pages about an error. */
export interface ErrorPages {
  /** An error page. */
  readonly show: (request: Request, status: number, kind: ErrorKind, options?: Options) => Response
  /** Answers the general refusals with a page. */
  readonly refuse: Refuse
  /** The answer to a form of another session. `again` is a page with a new form. */
  readonly forged: (request: Request, again?: string) => Response
  /** Redirects to sign-in. The answer to a form after the end of the session says that nothing was changed. */
  readonly signIn: (request: Request, signInUrl: string) => Response
}

/** The page of each status. All other refusals are about a wrong request. */
const kinds: Readonly<Record<number, ErrorKind>> = {
  404: "notFound",
  405: "methodNotAllowed",
  413: "tooLarge",
  429: "tooMany",
  503: "unavailable"
}

/** A path with the query of a request that can be repeated. */
const withQuery = (path: string, { method, query }: Request): string =>
  method !== "GET" || query === "" ? path : `${path}?${query}`

/** The address of this page, if it can be loaded again. */
const hereOf = (request: Request): string =>
  request.method === "GET" ? withQuery(request.path, request) : "/account/applications"

const byAnybody = { signedIn: Option.none(), signOutUrl: "" }

/** The error pages in the templates of the server. */
export const make: Effect.Effect<ErrorPages, never, HttpConfig> = Effect.gen(function*() {
  const templates = yield* Templates
  const frameOf = yield* Page.makeFrame

  const show: ErrorPages["show"] = (request, status, kind, options = {}) => {
    const { again, headers = {}, locale = Locale.of(request), seen = byAnybody } = options
    const frame = frameOf({ locale, here: "", signedIn: seen.signedIn, signOutUrl: seen.signOutUrl })
    const here = again ?? frame.base + hereOf(request)
    return Page.html(
      status,
      templates.failure({ frame: { ...frame, here }, status, kind, again, requestId: idOf(request) }),
      {
        headers,
        sources: templates.sources
      }
    )
  }

  return {
    show,
    refuse: (request, refusal) => {
      const { headers, status } = describe(refusal)
      const again = refusal._tag === "@startlist/http/ExtraSlashes" ? { again: withQuery(refusal.meant, request) } : {}
      return show(request, status, kinds[status] ?? "badRequest", { headers, ...again })
    },
    signIn: (request, signInUrl) =>
      request.method === "POST" ? show(request, 403, "signedOut", { again: signInUrl }) : redirect(signInUrl),
    forged: (request, again) => show(request, 403, "forged", again === undefined ? {} : { again })
  }
})
