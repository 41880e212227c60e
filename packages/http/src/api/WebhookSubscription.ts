/** `/api/v1/webhook_subscription`: an application's one subscription (requirements §4.6, §4.8, §4.9). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { OAuth } from "@startlist/core/OAuth"
import type { Subscription, ValidationFailed } from "@startlist/core/Subscription"
import { type InvalidCallbackUrl, Subscriptions } from "@startlist/core/Subscriptions"
import type { Request, Response } from "../Message.ts"
import { get, readOnce } from "../Parameters.ts"
import type { Endpoint, Route } from "../Router.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"
import { readWanted } from "./WantedSubscription.ts"

/** Requirements §2.3; instants as ISO 8601 in UTC with milliseconds. */
const toBody = ({ callbackUrl, createdAt, id, updatedAt }: Subscription) => ({
  id,
  callback_url: callbackUrl,
  created_at: DateTime.formatIso(createdAt),
  updated_at: DateTime.formatIso(updatedAt)
})

const error = (status: number, field: string, code: string, message: string): Response =>
  ApiResponse.error(status, message, [{ resource: "WebhookSubscription", field, code, message }])

const notPlatform = error(403, "role", "forbidden", "only a registration platform user may manage the subscription")
const notFound = error(404, "id", "not_found", "there is no such subscription")
const alreadySubscribed = error(409, "callback_url", "already_exists", "the application has a subscription already")

const urlProblems: Readonly<Record<InvalidCallbackUrl["reason"], string>> = {
  too_long: "callback_url must not be longer than 255 characters",
  invalid: "callback_url must be an absolute https address without user name and fragment"
}

/** Which kind of failure it was, and nothing of what the callback answered. */
const validationProblems: Readonly<Record<ValidationFailed["reason"], string>> = {
  unreachable: "the callback could not be reached",
  forbidden_address: "the callback has an address that is not called",
  timeout: "the callback did not answer the validation within 2 seconds",
  wrong_status: "the callback did not answer the validation with status 200",
  wrong_content_type: "the callback did not answer the validation with application/json",
  wrong_body: "the callback did not answer the validation with a JSON object of exactly hub.challenge"
}

export const make: Effect.Effect<Route, never, OAuth | Subscriptions> = Effect.gen(function*() {
  const subscriptions = yield* Subscriptions
  const withBearer = yield* Bearer.make

  const create: Endpoint = (request) =>
    withBearer(request, (access) =>
      Effect.gen(function*() {
        if (access.role !== "platform") return notPlatform
        const wanted = yield* readWanted(request)
        if (Either.isLeft(wanted)) return ApiResponse.error(422, "the subscription is not valid", wanted.left)
        const created = yield* subscriptions.create(access, wanted.right)
        return ApiResponse.json(201, toBody(created))
      }).pipe(Effect.catchTags({
        NotPlatformUser: () => Effect.succeed(notPlatform),
        AlreadySubscribed: () => Effect.succeed(alreadySubscribed),
        InvalidCallbackUrl: ({ reason }) => Effect.succeed(error(422, "callback_url", reason, urlProblems[reason])),
        ValidationFailed: ({ reason }) => Effect.succeed(error(422, "callback_url", reason, validationProblems[reason]))
      })))

  const show: Endpoint = (request) =>
    withBearer(request, (access) =>
      subscriptions.find(access).pipe(
        Effect.map((subscription) => ApiResponse.json(200, toBody(subscription))),
        Effect.catchTags({
          NotPlatformUser: () => Effect.succeed(notPlatform),
          SubscriptionNotFound: () => Effect.succeed(notFound)
        })
      ))

  const remove: Endpoint = (request) =>
    withBearer(request, (access) =>
      Effect.flatMap(readId(request), (id) => subscriptions.remove(access, id)).pipe(
        Effect.as(ApiResponse.noContent),
        Effect.catchTags({
          NotPlatformUser: () => Effect.succeed(notPlatform),
          SubscriptionNotFound: () => Effect.succeed(notFound)
        })
      ))

  return {
    path: "/api/v1/webhook_subscription",
    methods: { DELETE: remove, GET: show, POST: create },
    refuse: ApiResponse.refuse
  }
})

/** The `id` that DELETE accepts; one that is no identifier names no subscription, like any wrong one. */
const readId = (request: Request) =>
  Either.map(readOnce(request), (parameters) =>
    Option.map(
      Option.fromNullable(get(parameters, "id")),
      (id) => /^[1-9][0-9]{0,15}$/.test(id) ? Number(id) : 0
    ))
