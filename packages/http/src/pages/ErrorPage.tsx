/** What went wrong and what to do, without telling more than the visitor may know. */
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import type { Request, Response } from "../Message.ts"
import { describe, type Refusal } from "../Refusal.ts"
import type { Refuse } from "../Router.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import type { Messages } from "./Messages.ts"
import * as Page from "./Page.ts"

/** An error page; `say` picks its sentence. */
export const show = (
  request: Request,
  status: number,
  say: (messages: Messages["error"]) => string,
  options: { readonly headers?: Response["headers"]; readonly locale?: Locale.Locale } = {}
): Response => {
  const locale = options.locale ?? Locale.of(request)
  const { error } = Locale.messagesIn(locale)
  const frame = { locale, here: "/account/applications", visitor: Option.none(), signOutUrl: "" }
  return Page.html(
    status,
    <Layout frame={frame} title={error.title}>
      <p role="alert">{say(error)}</p>
      <p>
        <a href="/account/applications">{error.home}</a>
      </p>
    </Layout>,
    { headers: options.headers ?? {} }
  )
}

const sentences: Readonly<Record<(Refusal | StoreError)["_tag"], keyof Messages["error"]>> = {
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
  return show(request, status, (error) => error[sentences[refusal._tag]], { headers })
}

/** The answer to a form that is not of this session. */
export const forged = (request: Request): Response => show(request, 403, (error) => error.forged)
