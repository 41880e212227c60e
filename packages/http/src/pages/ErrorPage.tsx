/** What went wrong and what to do, without telling more than the visitor may know. */
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import type { Request, Response } from "../Message.ts"
import { describe, type Refusal } from "../Refusal.ts"
import type { Refuse } from "../Router.ts"
import { Alert } from "./Form.tsx"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import type { ErrorKind } from "./Messages.ts"
import * as Page from "./Page.ts"

const home = "/account/applications"

export interface Options {
  readonly headers?: Response["headers"]
  readonly locale?: Locale.Locale
  /** Where one can begin anew. */
  readonly again?: string
}

/** An error page. */
export const show = (request: Request, status: number, kind: ErrorKind, options: Options = {}): Response => {
  const { again, headers = {}, locale = Locale.of(request) } = options
  const { error } = Locale.messagesIn(locale)
  const { advice, title, what } = error[kind]
  const frame = { locale, here: again ?? hereOf(request), visitor: Option.none(), signOutUrl: "" }
  return Page.html(
    status,
    <Layout frame={frame} title={title} narrow>
      <Alert kind="bad">
        <p>{what}</p>
      </Alert>
      <p>{advice}</p>
      <p class="row">
        {again === undefined ? null : <a class="button" href={again}>{error.again}</a>}
        <a href={home}>{error.home}</a>
      </p>
      <p class="status">{error.status(status)}</p>
    </Layout>,
    { headers }
  )
}

/** The address of this page, if it can be asked for again. */
const hereOf = ({ method, path, query }: Request): string =>
  method !== "GET" ? home : query === "" ? path : `${path}?${query}`

const kinds: Readonly<Record<(Refusal | StoreError)["_tag"], ErrorKind>> = {
  NotFound: "notFound",
  MethodNotAllowed: "methodNotAllowed",
  TooLarge: "tooLarge",
  UnsupportedMediaType: "badRequest",
  Malformed: "badRequest",
  Repeated: "badRequest",
  TooMany: "tooMany",
  StoreError: "unavailable"
}

/** The general refusals, for people. */
export const refuse: Refuse = (request, refusal) => {
  const { headers, status } = describe(refusal)
  return show(request, status, kinds[refusal._tag], { headers })
}

/** The answer to a form that is not of this session; `again` is a page that has a fresh one. */
export const forged = (request: Request, again?: string): Response =>
  show(request, 403, "forged", again === undefined ? {} : { again })
