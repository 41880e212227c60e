/** Realistic users, applications and deliveries of a day. */
import { Delivery, DeliveryQueue, Event, Registration, Subscription, User } from "@startlist/core"
import { type Application, ApplicationId } from "@startlist/core/Application"
import { Applications } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { DateTime, Effect, Option, Redacted } from "effect"
import { Registrar } from "../../../../src/accounts/LocalAccounts.ts"
import type { HttpConfig } from "./TestSite.ts"

export const password = "correct horse battery staple"

/** A user who signs in with `password`. */
export const createUser = (role: User.Role, email: string, firstName = "Camille", lastName = "Moreau") =>
  Effect.flatMap(
    Registrar,
    (registrar) => registrar.register({ role, email, firstName, lastName }, Redacted.make(password))
  )

/** An application of a platform user. */
export const register = (owner: User.User, name: string, redirectUris: ReadonlyArray<string>) =>
  Effect.flatMap(
    Applications,
    (applications) => applications.create(owner.id, { name, redirectUris, requirePkce: false })
  )

/** Grants an application the access that it requests, and returns its tokens. */
export const allow = (
  registered: { readonly application: Application; readonly secret: Redacted.Redacted<string> },
  user: User.User,
  scope = "profile:read read"
) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth
    const none = Option.none()
    const request = yield* oauth.authorize(registered.application.id, {
      redirectUri: Option.some("http://localhost/"),
      responseType: Option.some("code"),
      scope: Option.some(scope),
      state: none,
      role: none,
      codeChallenge: none,
      codeChallengeMethod: none,
      responseMode: none
    })
    const code = yield* oauth.consent(request, user)
    const client = { id: registered.application.id, secret: registered.secret }
    return yield* oauth.exchange({ client, code, redirectUri: none, verifier: none })
  })

/** A subscription of the application. */
export const subscribe = (applicationId: ApplicationId, callbackUrl = "https://racehub.example/hooks/startlist") =>
  Effect.gen(function*() {
    const subscriptions = yield* Subscription.SubscriptionStore
    const now = yield* DateTime.now
    return yield* subscriptions.insert({
      applicationId,
      callbackUrl,
      createdAt: DateTime.subtract(now, { days: 40 }),
      updatedAt: DateTime.subtract(now, { days: 40 })
    })
  })

const outcomes = {
  delivered: { status: Option.some(200), detail: "{\"ok\":true}" },
  rejected: { status: Option.some(502), detail: "<html><h1>Bad Gateway</h1></html>" },
  timeout: { status: Option.none(), detail: "" },
  unreachable: { status: Option.none(), detail: "connection refused" },
  forbidden_address: { status: Option.none(), detail: "the address 10.0.0.7 is not public" }
} as const

/** Ended deliveries of the last day. `plan` has the outcomes of the attempts of each. */
export const aDay = (
  { applicationId }: Subscription.Subscription,
  plan: ReadonlyArray<{ readonly hoursAgo: number; readonly outcomes: ReadonlyArray<keyof typeof outcomes> }>
) =>
  Effect.gen(function*() {
    const store = yield* DeliveryQueue.DeliveryQueue
    const now = yield* DateTime.now
    for (const [index, { hoursAgo, outcomes: attempted }] of plan.entries()) {
      const time = DateTime.subtract(now, { minutes: Math.round(hoursAgo * 60) })
      const event = Event.Event.make({
        id: Event.EventId.make(`evt_${String(index).padStart(6, "0")}kQbZ3vTn1xWm8sYd5rGh2pLc7fJu4aEo`),
        aspectType: "updated",
        objectType: "registration",
        objectId: 48_210 + index,
        updates: {
          ...Registration.emptyUpdates,
          platform_id: `RH-${7000 + index}`,
          registration_status: "validated",
          document_type: "medical certificate",
          document_status: "accepted"
        },
        time,
        sequence: 1,
        trace: Option.none()
      })
      yield* store.enqueue([{ event, audience: Event.Audience.Application({ applicationId }) }])
      const token = `story ${index}`
      const claims = yield* store.claim({
        now: time,
        leaseEnds: DateTime.add(time, { seconds: 15 }),
        token,
        limit: 1,
        perSubscription: 1,
        allowances: new Map()
      })
      const attempts = attempted.map((outcome, attempt): Delivery.Attempt => ({
        at: DateTime.add(time, { seconds: [0, 5, 66][attempt] ?? 66 }),
        durationMs: outcome === "timeout" ? 2001 : 35 + ((index * 37) % 90) + (index % 11 === 0 ? 180 : 0),
        outcome,
        ...outcomes[outcome]
      }))
      const last = attempted.at(-1)
      yield* store.settle(claims.map(({ delivery }) => ({
        token,
        delivery: Delivery.Delivery.make({
          ...delivery,
          attempts,
          state: last === "delivered" ? "delivered" : "exhausted",
          endedAt: Option.some(time)
        })
      })))
    }
  })

/** Outcomes of a usual day with a short outage. */
export const anOrdinaryDay = Array.from({ length: 130 }, (_, index) => {
  const hoursAgo = 22.5 - (index * 22.4) / 130
  return {
    hoursAgo,
    outcomes: hoursAgo > 8.2 && hoursAgo < 9.4
      ? ["rejected", "timeout", "rejected"] as const
      : index % 23 === 7
      ? ["timeout", "delivered"] as const
      : ["delivered"] as const
  }
})

/**
 * A site in use, once per `version`: an athlete, a platform user with two applications, grants, and a day of
 * deliveries.
 */
export const tell = (site: Pick<HttpConfig, "run" | "app">, version = "") =>
  site.run(Effect.gen(function*() {
    const athlete = yield* createUser("athlete", `camille${version}@example.org`)
    const platform = yield* createUser("platform", `noah${version}@racehub.example`, "Noah", "Weber")
    const hub = yield* register(platform, "Race Hub", ["https://racehub.example/oauth/callback", site.app.redirectUri])
    const club = yield* register(platform, "Club Desk", [site.app.redirectUri])
    yield* allow(hub, athlete, "profile:read read+write")
    yield* allow(club, athlete, "profile:read results:export")
    const subscription = yield* subscribe(hub.application.id)
    yield* aDay(subscription, anOrdinaryDay)
    return { athlete, platform, hub, club, subscription }
  }))

export type Story = Awaited<ReturnType<typeof tell>>

/** The authorization URL of an application. */
export const authorizeUrl = (
  site: Pick<HttpConfig, "url" | "app">,
  application: Application,
  parameters: Readonly<Record<string, string>> = {}
): string =>
  `${site.url}/oauth/authorize?${new URLSearchParams({
    client_id: String(application.id),
    redirect_uri: site.app.redirectUri,
    response_type: "code",
    scope: "profile:read read+write",
    state: "xyz",
    ...parameters
  })}`
