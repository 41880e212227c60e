/** Pages as responses: the frame of a page, with the name and the files of the platform, its HTML and its headers. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { VNode } from "preact"
import { renderToStaticMarkup } from "preact-render-to-string"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { MountedPaths } from "@startlist/http/Mount"
import type { Response } from "@startlist/http/Http"
import { Platform } from "@startlist/core/Platform"
import type { SignedIn } from "../Authentication.ts"
import type { Locale } from "./Locale.ts"
import { type Asset, icon, script, stylesheet } from "./assetFiles.ts"
import * as PlatformColor from "../PlatformColor.ts"

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
  readonly brand: Brand
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
  const brand = yield* makeBrand
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

/** A file that the pages load. */
export interface File extends Omit<Asset, "text"> {
  readonly content: Uint8Array
}

/** The platform on the pages: its name, links and icon, and a style sheet in its colour. */
export interface Brand {
  readonly name: string
  /** Whether `icon` is the logo of the platform. */
  readonly hasLogo: boolean
  readonly icon: File
  readonly stylesheet: File
  readonly support: string | undefined
  readonly privacyPolicy: string | undefined
  readonly guide: string | undefined
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const fileOf = ({ text, ...asset }: Asset): File => ({ ...asset, content: bytesOf(text) })

const versionOf = (content: Uint8Array): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", Uint8Array.from(content))),
    (digest) => [...new Uint8Array(digest, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  )

/** A file whose path has the version, below `/assets`. */
const makeFile = (path: string, type: string, content: Uint8Array): Effect.Effect<File> =>
  Effect.map(versionOf(content), (version) => ({
    path,
    type,
    content,
    version,
    url: path.replace("{version}", version)
  }))

const plain = { icon: fileOf(icon), stylesheet: fileOf(stylesheet) }

/** The brand of the platform. A colour with too little contrast is a defect. */
export const makeBrand: Effect.Effect<Brand> = Effect.gen(function*() {
  const { color, guide, logo, name, privacyPolicy, support } = yield* Platform
  const problem = Option.flatMap(color, PlatformColor.problemOf)
  if (Option.isSome(problem)) return yield* Effect.die(new TypeError(`color: ${problem.value}`))
  return {
    name,
    hasLogo: Option.isSome(logo),
    icon: yield* Option.match(logo, {
      onNone: () => Effect.succeed(plain.icon),
      onSome: ({ content, type }) => makeFile("/assets/logo.{version}", type, content)
    }),
    stylesheet: yield* Option.match(color, {
      onNone: () => Effect.succeed(plain.stylesheet),
      onSome: (color) =>
        makeFile(stylesheet.path, stylesheet.type, bytesOf(stylesheet.text + PlatformColor.styleOf(color)))
    }),
    support: Option.getOrUndefined(support),
    privacyPolicy: Option.getOrUndefined(privacyPolicy),
    guide: Option.getOrUndefined(guide)
  }
})
