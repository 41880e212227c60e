/**
 * `/developer/applications/{client_id}/secrets` and `…/signing-secret`: the client secrets and the signing secrets of an
 * application.
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ApplicationId, SigningSecrets } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import { Applications, type Registered } from "@startlist/core/Applications"
import { uninterrupted } from "@startlist/core/Audit"
import { Policy } from "@startlist/core/Policy"
import type { Response } from "@startlist/http/Http"
import { redirect } from "@startlist/http/Http"
import { get } from "@startlist/http/Parameters"
import { Malformed, NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import * as Forms from "../Forms.ts"
import * as Page from "../Page.ts"
import * as Owner from "./Owner.tsx"
import { SecretsView, SecretView, SigningView } from "./SecretViews.tsx"

/** The routes of secrets. */
export const make: Effect.Effect<ReadonlyArray<Route>, never, Owner.Services> = Effect.gen(function*() {
  const applications = yield* Applications
  const policy = yield* Policy
  const owner = yield* Owner.make
  const formKeys = yield* Forms.makeKeys

  const here = (id: string | undefined) => `${Owner.home}/${id}/secrets`

  const show = (context: Owner.ApplicationContext, status: number, shown: { readonly isFull?: boolean } = {}) =>
    Effect.gen(function*() {
      const secrets = live(context.application.secrets, yield* DateTime.now)
      const formKey = yield* formKeys.make
      return Page.html(status, SecretsView({ context, formKey, overlap: policy.secretOverlap, secrets, ...shown }))
    })

  const visit: Endpoint = (request, [id]) =>
    owner.withApplication(request, id, here(id), (context) => show(context, 200))

  const showRotated = (context: Owner.ApplicationContext, registered: Registered) =>
    Effect.map(DateTime.now, (now) => {
      const former = live(registered.application.secrets, now)[1]
      const formerUntil = Option.flatMap(Option.fromNullable(former), ({ expiresAt }) => expiresAt)
      return Page.html(200, SecretView({ context, registered, formerUntil }))
    })

  const rotate: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { id: applicationId } = context.application
        const overlap = get(parameters, "end_now") === "true" ? Duration.zero : policy.secretOverlap
        const number = Number(get(parameters, "number"))
        const secret = yield* formKeys.secretOf(
          get(parameters, "key"),
          applicationId,
          number,
          Duration.toMillis(overlap)
        )
        if (Option.isNone(secret)) return owner.outdated(request, context)
        const rotation = { overlap, number, secret: secret.value }
        /** The answer to an earlier request of the same form, or `otherwise`. */
        const repeated = <E>(otherwise: Effect.Effect<Response, E>) =>
          Effect.gen(function*() {
            const application = yield* applications.find(applicationId)
            return (yield* formKeys.isIn(application.secrets, secret.value))
              ? yield* showRotated(context, { application, secret: secret.value })
              : yield* otherwise
          })
        const replaced = uninterrupted(Effect.tap(
          applications.rotateSecret(applicationId, rotation),
          owner.record(request, "secret_rotated", context, context.application)
        )).pipe(Effect.flatMap((registered) => showRotated(context, registered)))
        return yield* Effect.catchTag(replaced, "@startlist/core/SecretRefused", ({ reason }) =>
          repeated(
            reason === "too_many"
              ? show(context, 409, { isFull: true })
              : Effect.succeed(owner.outdated(request, context))
          ))
      }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())), here(id))

  const signingPath = (id: string | undefined) => `${Owner.home}/${id}/signing-secret`

  const showSigning = (
    context: Owner.ApplicationContext,
    status: number,
    { secrets }: SigningSecrets,
    shown: { readonly isShown?: boolean; readonly isRotated?: boolean; readonly isFull?: boolean } = {}
  ) =>
    Effect.map(
      DateTime.now,
      (now) =>
        Page.html(
          status,
          SigningView({ context, secrets: live(secrets, now), overlap: policy.secretOverlap, ...shown })
        )
    )

  const visitSigning: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      signingPath(id),
      (context) =>
        applications.signingSecrets(context.application.id).pipe(
          Effect.flatMap((present) => showSigning(context, 200, present)),
          Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())
        )
    )

  const act: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application } = context
        const number = Number(get(parameters, "number"))
        switch (get(parameters, "action")) {
          case "reveal":
            return yield* showSigning(context, 200, yield* applications.signingSecrets(application.id), {
              isShown: true
            })
          case "rotate": {
            const rotation = {
              number,
              overlap: get(parameters, "end_now") === "true" ? Duration.zero : policy.secretOverlap
            }
            const rotated = yield* uninterrupted(Effect.tap(
              applications.rotateSigningSecret(application.id, rotation),
              owner.record(request, "signing_secret_rotated", context, application)
            ))
            return yield* showSigning(context, 200, rotated, { isShown: true, isRotated: true })
          }
          default:
            return yield* new Malformed({ what: "action" })
        }
      }).pipe(Effect.catchTags({
        "@startlist/core/ApplicationNotFound": () => new NotFound(),
        "@startlist/core/SecretRefused": ({ reason }) =>
          Effect.gen(function*() {
            const present = yield* applications.signingSecrets(context.application.id)
            if (reason === "too_many") return yield* showSigning(context, 409, present, { isFull: true })
            // A form that is sent twice has made the present secret, and has ended the others if it asked for that.
            const isDone = present.secrets[0]?.number === Number(get(parameters, "number")) &&
              (get(parameters, "end_now") !== "true" || present.secrets.length === 1)
            return isDone
              ? yield* showSigning(context, 200, present, { isShown: true, isRotated: true })
              : owner.outdated(request, context)
          }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound()))
      })), signingPath(id))

  /** Ends a secret of either kind, and returns to `here`. If it has ended before, the form was sent twice. */
  const ending = (
    { action, end, here }: {
      readonly action: "secret_ended" | "signing_secret_ended"
      readonly end: (id: ApplicationId, number: number) => Applications.Changed<unknown>
      readonly here: (id: string | undefined) => string
    }
  ): Endpoint =>
  (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      uninterrupted(Effect.tap(
        end(context.application.id, Number(get(parameters, "number"))),
        owner.record(request, action, context, context.application)
      )).pipe(
        Effect.as(owner.done(context, context.frame.base + here(id), "secretEnded", context.application.name)),
        Effect.catchTags({
          "@startlist/core/ApplicationNotFound": () => new NotFound(),
          "@startlist/core/SecretRefused": ({ reason }) =>
            Effect.succeed(
              reason === "unknown" ? redirect(context.frame.base + here(id)) : owner.outdated(request, context)
            )
        })
      ), here(id))

  const { refuse } = owner
  const endSecret = ending({ action: "secret_ended", end: applications.endSecret, here })
  const endSigning = ending({ action: "signing_secret_ended", end: applications.endSigningSecret, here: signingPath })
  return [
    { path: `${Owner.home}/{client_id}/secrets`, methods: { GET: visit }, refuse },
    { path: `${Owner.home}/{client_id}/secret`, methods: { POST: rotate }, refuse },
    { path: `${Owner.home}/{client_id}/secret/end`, methods: { POST: endSecret }, refuse },
    { path: `${Owner.home}/{client_id}/signing-secret`, methods: { GET: visitSigning, POST: act }, refuse },
    { path: `${Owner.home}/{client_id}/signing-secret/end`, methods: { POST: endSigning }, refuse }
  ]
})
