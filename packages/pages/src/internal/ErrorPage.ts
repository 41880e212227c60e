/** Error pages. */
import type { HttpConfig } from "@startlist/http/HttpConfig"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import { Templates } from "../Templates.ts"
import { idOf, redirect, type Request, type Response } from "@startlist/http/Http"
import { describe, type Refusal } from "@startlist/http/Refusal"
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

const kinds: Readonly<Record<(Refusal | StoreError)["_tag"], ErrorKind>> = {
  "@startlist/http/NotFound": "notFound",
  "@startlist/http/ExtraSlashes": "notFound",
  "@startlist/http/MethodNotAllowed": "methodNotAllowed",
  "@startlist/http/TooLarge": "tooLarge",
  "@startlist/http/UnsupportedMediaType": "badRequest",
  "@startlist/http/UnsupportedEncoding": "badRequest",
  "@startlist/http/Malformed": "badRequest",
  "@startlist/http/Repeated": "badRequest",
  "@startlist/http/Contradictory": "badRequest",
  "@startlist/http/TooManyHeaders": "badRequest",
  "@startlist/http/Fragmented": "badRequest",
  "@startlist/http/TooMany": "tooMany",
  "@startlist/http/Busy": "unavailable",
  "@startlist/core/StoreError": "unavailable"
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
      const kind = status === 400 ? "badRequest" : kinds[refusal._tag]
      return show(request, status, kind, { headers, ...again })
    },
    signIn: (request, signInUrl) =>
      request.method === "POST" ? show(request, 403, "signedOut", { again: signInUrl }) : redirect(signInUrl),
    forged: (request, again) => show(request, 403, "forged", again === undefined ? {} : { again })
  }
})
