/** Pages as responses: the frame of a page, its HTML and its headers. */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { VNode } from "preact"
import { renderToStaticMarkup } from "preact-render-to-string"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { MountedPaths } from "@startlist/http/Mount"
import type { SignedIn } from "../Authentication.ts"
import * as Brand from "./Brand.ts"
import type { Locale } from "./Locale.ts"
import type { Response } from "@startlist/http/Http"
import { script } from "./assetFiles.ts"

/** Context of a page beside its content. */
export interface Frame {
  readonly locale: Locale
  /** Path and query of the page for the browser, to which the language switch returns. */
  readonly here: string
  readonly signedIn: Option.Option<SignedIn>
  readonly signOutUrl: string
  /** The path under which the pages are mounted, or an empty text. */
  readonly base: string
  /** Whether this path (without `base`) has a page: an embedder need not mount all pages. */
  readonly has: (path: string) => boolean
  readonly brand: Brand.Brand
  /** The result of the form before this page, in words. */
  readonly notice: string | undefined
}

/** The part of a frame that a request decides. */
export type Given = Omit<Frame, "base" | "brand" | "has" | "notice"> & Partial<Pick<Frame, "notice">>

/** Makes frames for this configuration. */
export const makeFrame: Effect.Effect<
  (given: Given) => Frame,
  never,
  HttpConfig
> = Effect.gen(function*() {
  const base = basePath(yield* HttpConfig)
  const { has } = yield* MountedPaths
  const brand = yield* Brand.make
  return (given) => ({ notice: undefined, ...given, base, brand, has })
})

/** Details of the response for a page. */
export interface Options {
  /** Sources by directive of the content security policy, in place of our own style sheet, images and script. */
  readonly sources?: Readonly<Record<string, string>>
  readonly headers?: Response["headers"]
}

/**
 * No `form-action`: Chromium applies it to every redirect after a form. An application's callback or another sign-in
 * often redirects to a further origin, and the button would do nothing. The form's token protects the form.
 */
const policyOf = ({ sources = {} }: Options): string =>
  Object.entries({
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "script-src": `'${script.hash}'`,
    ...sources,
    "frame-ancestors": "'none'",
    "base-uri": "'none'"
  }).map(([directive, values]) => `${directive} ${values}`).join("; ")

const headersWith = (options: Options): Response["headers"] => ({
  "content-type": "text/html;charset=UTF-8",
  "content-security-policy": policyOf(options),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store"
})

/** A page as HTML. The renderer escapes every value. */
export const render = (page: VNode): string => `<!doctype html>${renderToStaticMarkup(page)}`

/** The response for a page, rendered or not. */
export const html = (status: number, page: VNode | string | Uint8Array, options: Options = {}): Response => ({
  status,
  headers: { ...headersWith(options), ...options.headers },
  body: typeof page === "string" || page instanceof Uint8Array ? page : render(page)
})
