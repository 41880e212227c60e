/** Access to the developer pages, for platform users and the applications of each, and the frame of these pages. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ComponentChildren } from "preact"
import type { Application } from "@startlist/core/Application"
import { Applications } from "@startlist/core/Applications"
import type { Secrets } from "@startlist/core/Secrets"
import type { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { type Action, Audit, Entry, Party } from "@startlist/core/Audit"
import { redirect, type Request, type Response } from "@startlist/http/Http"
import { type Parameters, parseClientId } from "@startlist/http/Parameters"
import { NotFound, type Refusal } from "@startlist/http/Refusal"
import type { Refuse } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication, type SignedIn } from "../../Authentication.ts"
import * as ErrorPage from "../ErrorPage.ts"
import * as Forms from "../Forms.ts"
import * as Page from "../Page.ts"
import * as Locale from "../Locale.ts"
import { SentDeliveries } from "./SentDeliveries.ts"
import { Alert } from "../Elements.tsx"
import { Layout } from "../Layout.tsx"
import { textsIn } from "../Locale.ts"

/** Path of the list of a platform user's applications. */
export const home = "/developer/applications"

/** The address of an application's page. */
export const pathOf = ({ base }: Pick<Page.Frame, "base">, { id }: Pick<Application, "id">): string =>
  `${base}${home}/${id}`

/** A platform user at a page. */
export interface OwnerContext {
  readonly signedIn: SignedIn
  readonly frame: Page.Frame
}

/** A platform user at a page about an application of theirs. */
export interface ApplicationContext extends OwnerContext {
  readonly application: Application
  /** Whether its callback does not accept events now. */
  readonly isFailing: boolean
}

type Answer = Effect.Effect<Response, Refusal | StoreError>

/** Serves the developer pages to those who may see them. */
export interface OwnerPages {
  /** Serves platform users. `here` is the path to which other users return after sign-in. */
  readonly withOwner: (request: Request, here: string, serve: (context: OwnerContext) => Answer) => Answer
  /** Serves the owner of the application with this `client_id`. Other users see that there is no such page. */
  readonly withApplication: (
    request: Request,
    clientId: string | undefined,
    here: string,
    serve: (context: ApplicationContext) => Answer
  ) => Answer
  /** The same as `withApplication` for a form on the page `here` about the application. */
  readonly withForm: (
    request: Request,
    clientId: string | undefined,
    change: (context: ApplicationContext, parameters: Parameters) => Answer,
    here?: string
  ) => Answer
  /** Reads a form of this session. Forms of other sessions change nothing. */
  readonly posted: (request: Request, context: OwnerContext, change: (parameters: Parameters) => Answer) => Answer
  /** The answer to an outdated form, sent twice or from another window. It changes nothing. */
  readonly outdated: (request: Request, context: ApplicationContext) => Response
  readonly refuse: Refuse
  readonly notices: Forms.Notices
  /** The answer to a form that was done: leads to a page that says so. */
  readonly done: (context: OwnerContext, path: string, kind: Forms.NoticeKind, about: string) => Response
  /** Records an action of a platform user in the audit trail. */
  readonly record: (
    request: Request,
    action: Action,
    context: OwnerContext,
    application: Application
  ) => Effect.Effect<void>
}

/** The services of all developer pages. */
export type Services =
  | Applications
  | Audit
  | Authentication
  | HttpConfig
  | Secrets
  | SentDeliveries
  | Subscriptions

/** Access by the sign-in of the server. */
export const make: Effect.Effect<OwnerPages, never, Services> = Effect.gen(function*() {
  const applications = yield* Applications
  const sent = yield* SentDeliveries
  const subscriptions = yield* Subscriptions
  const authentication = yield* Authentication
  const audit = yield* Audit
  const config = yield* HttpConfig
  const frameOf = yield* Page.makeFrame
  const errors = yield* ErrorPage.make
  const notices = yield* Forms.makeNotices

  /** An earlier subscription may have had another callback. */
  const isCallbackFailing = ({ id }: Application) =>
    Effect.zipWith(
      sent.failing(id),
      subscriptions.findByApplication(id),
      (failed, present) =>
        Option.exists(failed, ({ subscriptionId }) => Option.exists(present, ({ id }) => id === subscriptionId))
    )

  const withOwner: OwnerPages["withOwner"] = (request, here, serve) =>
    Effect.flatMap(authentication.identify(request), (signedIn): Answer => {
      if (Option.isNone(signedIn)) {
        return Effect.succeed(errors.signIn(request, authentication.signInUrl(basePath(config) + here)))
      }
      const locale = Locale.of(request)
      const frame = frameOf({
        locale,
        here: basePath(config) + here,
        signedIn,
        signOutUrl: authentication.signOutUrl,
        notice: notices.textOf(request, locale, signedIn.value)
      })
      return signedIn.value.user.role === "platform"
        ? serve({ frame, signedIn: signedIn.value })
        : Effect.succeed(errors.show(request, 403, "notPlatform", { seen: frame }))
    })

  const withApplication: OwnerPages["withApplication"] = (request, clientId, here, serve) =>
    withOwner(request, here, ({ frame, signedIn }) =>
      Effect.gen(function*() {
        const id = parseClientId(clientId ?? "")
        if (Option.isNone(id)) return yield* new NotFound()
        const application = yield* Effect.catchTag(
          applications.find(id.value),
          "@startlist/core/ApplicationNotFound",
          () => new NotFound()
        )
        if (application.ownerId !== signedIn.user.id) return yield* new NotFound()
        // Only pages show it, not answers to forms.
        const isFailing = request.method === "GET" && (yield* isCallbackFailing(application))
        return yield* serve({ application, frame, isFailing, signedIn })
      }))

  const posted: OwnerPages["posted"] = (request, { frame, signedIn }, change) =>
    Effect.flatMap(
      Forms.read(request, config),
      ({ isGenuine, parameters }) =>
        isGenuine(signedIn.csrf) ? change(parameters) : Effect.succeed(errors.forged(request, frame.here))
    )

  return {
    withApplication,
    withForm: (request, clientId, change, here = `${home}/${clientId}`) =>
      withApplication(
        request,
        clientId,
        here,
        (context) => posted(request, context, (parameters) => change(context, parameters))
      ),
    withOwner,
    refuse: errors.refuse,
    outdated: (request, { application, frame }) =>
      errors.show(request, 409, "outdated", { again: pathOf(frame, application) }),
    posted,
    notices,
    done: ({ signedIn }, path, kind, about) => redirect(notices.address(path, kind, about, signedIn)),
    record: (request, action, { signedIn }, { id }) =>
      Effect.flatMap(DateTime.now, (at) =>
        audit.record(Entry.Acted({
          at,
          action,
          actor: Party.User({ userId: signedIn.user.id }),
          subject: Party.Application({ applicationId: id }),
          address: request.address
        })))
  }
})

/** The sections of an application, each with a page. */
const sections = {
  overview: "",
  webhook: "/webhook",
  deliveries: "/deliveries",
  settings: "/settings",
  secrets: "/secrets"
}

/** A section of an application. */
export type Section = keyof typeof sections

const Sections = ({ context: { application, frame }, current }: {
  readonly context: ApplicationContext
  readonly current: Section
}) => {
  const { developer } = textsIn(frame.locale)
  return (
    <nav aria-label={application.name}>
      <ul class="tabs">
        {(Object.keys(sections) as ReadonlyArray<Section>).map((section) => (
          <li key={section}>
            <a
              href={pathOf(frame, application) + sections[section]}
              aria-current={section === current ? "page" : undefined}
            >
              {developer.sections[section]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

type Place =
  | { readonly section: Section; readonly title?: undefined; readonly parent?: undefined }
  | { readonly section?: undefined; readonly title: string; readonly parent: Section }

/** The frame of a section of the application, or of a page below one. */
export const ApplicationLayout = (
  { children, context, isError = false, narrow = false, parent, section, title }: Place & {
    readonly context: ApplicationContext
    readonly isError?: boolean
    readonly narrow?: boolean
    readonly children: ComponentChildren
  }
) => {
  const { application, frame, isFailing } = context
  const { developer: { applications, ending, sections: names, webhook } } = textsIn(frame.locale)
  const path = pathOf(frame, application)
  return (
    <Layout
      frame={frame}
      title={title ?? application.name}
      section={section === undefined || section === "overview" ? undefined : names[section]}
      trail={[
        [applications.title, frame.base + home],
        ...(parent === undefined
          ? []
          : [[application.name, path] as const, [names[parent], path + sections[parent]] as const])
      ]}
      isError={isError}
      narrow={narrow}
    >
      {application.state === "suspended"
        ? (
          <Alert kind="bad">
            <p>{ending.suspended}</p>
          </Alert>
        )
        : null}
      {isFailing
        ? (
          <Alert kind="bad">
            <p>
              {webhook.failing} <a href={`${path}/deliveries?state=exhausted`}>{webhook.failed}</a>
            </p>
          </Alert>
        )
        : null}
      {section === undefined ? null : <Sections context={context} current={section} />}
      {children}
    </Layout>
  )
}
