/** Refusals of access tokens that may not use the webhook API (requirements §5.8). */
import * as Effect from "effect/Effect"
import { InsufficientScope, type NotEntitled, NotPlatformUser } from "@startlist/core/Subscriptions"
import type { Response } from "../Message.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"

const message = "only a registration platform user may manage the subscription"

const notPlatform = ApiResponse.error(403, message, [
  { resource: "WebhookSubscription", field: "role", code: "forbidden", message }
])

export const isNotEntitled = (error: unknown): error is NotEntitled =>
  error instanceof NotPlatformUser || error instanceof InsufficientScope

export const refuse = (error: NotEntitled): Effect.Effect<Response> =>
  Effect.succeed(
    error._tag === "NotPlatformUser"
      ? notPlatform
      : Bearer.insufficientScope("WebhookSubscription", `the scope ${error.scope} is required`, error.scope)
  )
