/**
 * A whole Startlist service in memory, for the tests of applications. It runs the rules of the core and the endpoints of
 * production; users, time and faults are under your control, by these methods or over HTTP below `/fake`.
 */
import { Memory } from "@startlist/core"
import { DeliveryStore } from "@startlist/core/Delivery"
import { Startlist } from "@startlist/embed"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as ControlPlane from "./internal/ControlPlane.ts"
import { type Fake, InvalidControl, type Who } from "./internal/Controls.ts"
import * as Listener from "./internal/Listener.ts"
import * as Listening from "./internal/Listening.ts"
import * as MovableClock from "./internal/MovableClock.ts"
import * as People from "./internal/People.ts"
import * as Receivers from "./internal/Receivers.ts"
import * as Time from "./internal/Time.ts"
import * as Traffic from "./internal/Traffic.ts"

export { InvalidControl } from "./internal/Controls.ts"
export type { Application, Fake, Updates, Who } from "./internal/Controls.ts"
export type { DeliveryFault } from "./internal/Receivers.ts"
export type { NextResponses, RecordedRequest, ResponseFault } from "./internal/Traffic.ts"

export interface Options {
  /** Default: any free port. */
  readonly port?: number
  /** The address to listen on. Default: `127.0.0.1`. Any program that reaches it controls the fake. */
  readonly host?: string
  /** Redirect URIs of the application. Addresses on loopback are also accepted. */
  readonly redirectUris?: ReadonlyArray<string>
}

/** Maximum step of time. Far longer ones overflow dates. */
const longest = Duration.days(36_500)

/** Durations: a number of milliseconds, or a text such as `8 hours`. */
const millisOf = (duration: Duration.DurationInput): number => {
  const parsed = Duration.decodeUnknown(duration)
  if (parsed._tag === "None" || Duration.greaterThan(parsed.value, longest)) {
    throw new InvalidControl("advance", "must be a duration such as \"8 hours\", of at most 36500 days")
  }
  return Duration.toMillis(parsed.value)
}

/** Starts a fake. Rejects if the port is in use. */
export const start = async ({ host = "127.0.0.1", port = 0, redirectUris = [] }: Options = {}): Promise<Fake> => {
  const { port: listensOn, serve, server } = await Listening.open(port, host)
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listensOn}`
  const clock = MovableClock.make()
  const people = People.make()
  const receivers = Receivers.make()
  const traffic = Traffic.make()
  let deliveries: DeliveryStore.Service | undefined
  const stores = Layer.map(Memory.layer, (context) => {
    deliveries = Context.get(context, DeliveryStore)
    return context
  })
  const time = Time.make(clock, () => deliveries ?? fail("the stores are not open"), receivers)
  const startlist = await Startlist.make({
    url,
    stores: Layer.merge(stores, Layer.setClock(clock)),
    callbacks: receivers.layer,
    secrets: NodeSecrets.layerDrawn,
    findUser: people.find,
    authentication: people.signIn
  })

  const userOf = (who: Who) => {
    const user = people.named(who)
    if (user === undefined) throw new InvalidControl("user", `there is no user ${JSON.stringify(who)}`)
    return user
  }
  /** Returns the result, or throws the reason why there is no result. */
  const done = <A extends object>(result: Startlist.Result<A, Startlist.Invalid | Startlist.NotFound>) => {
    if (result.ok) return result
    throw result.reason === "invalid"
      ? new InvalidControl(result.field, result.message)
      : new InvalidControl("id", "there is no such registration")
  }

  const addApplication: Fake["addApplication"] = async ({ name, redirectUris = [], requirePkce = false }) => {
    const owner = people.all().find(({ role }) => role === "platform")
    const made = done(await startlist.applications.create(owner?.id ?? 0, { name, redirectUris, requirePkce }))
    const { application, secret, signingSecret } = made
    return { clientId: application.id, clientSecret: secret, signingSecret, name: application.name }
  }

  for (const user of People.everyone) people.add(user)
  const application = await addApplication({ name: "Race Planner", redirectUris })

  const fake: Fake = {
    url,
    application,
    users: people.all,
    addUser: (user) => {
      if (people.named(user.email) !== undefined) throw new InvalidControl("email", "another user has this address")
      return people.add(user)
    },
    addApplication,
    consent: async (authorizationUrl, who, decision = "allow") => {
      const isAuthorization = URL.canParse(authorizationUrl, url) &&
        new URL(authorizationUrl, url).pathname === "/oauth/authorize"
      if (!isAuthorization) throw new InvalidControl("url", "must be an authorization URL")
      const result = await startlist.consents[decision](new URL(authorizationUrl, url).search, userOf(who))
      if (result.ok || "redirect" in result) return result.redirect
      throw new InvalidControl("url", `the request cannot be answered: ${result.reason}`)
    },
    revoke: async (who, clientId = application.clientId) => {
      const { id } = userOf(who)
      const result = await startlist.grants.revoke(clientId, id)
      if (!result.ok) throw new InvalidControl("user", `user ${id} has granted nothing to application ${clientId}`)
    },
    addRegistration: async ({ athlete, club, organizer } = {}, updates = {}) => {
      const first = people.all().find(({ role }) => role === "athlete")
      const parties = {
        athleteId: athlete === undefined ? first?.id ?? 0 : userOf(athlete).id,
        organizerId: organizer === undefined ? undefined : userOf(organizer).id,
        clubId: club === undefined ? undefined : userOf(club).id
      }
      return done(await startlist.registrations.create(parties, updates)).registration.id
    },
    changeRegistration: async (id, updates) => void done(await startlist.registrations.change(id, updates)),
    now: () => new Date(time.now()),
    advance: async (duration) => time.advance(millisOf(duration)),
    settle: time.settle,
    nextResponses: traffic.next,
    nextDeliveries: (fault, count = 1) => receivers.next(fault, count),
    clearFaults: () => {
      traffic.clear()
      receivers.clear()
    },
    requests: () => [...traffic.recorded],
    clearRequests: () => void traffic.recorded.splice(0),
    deliveries: () => startlist.deliveries.list({ limit: 1000 }),
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await startlist.close()
    }
  }
  const control = ControlPlane.make(fake, people)
  serve(Listener.make({ url, handler: startlist.handler, control, traffic, now: time.now }))
  return fake
}

const fail = (message: string): never => {
  throw new Error(message)
}
