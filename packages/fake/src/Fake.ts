/**
 * A whole Startlist service in memory, for the tests of applications. It runs the rules of the core and the endpoints of
 * production; users, time and faults are under your control, by these methods or over HTTP below `/fake`.
 */
import { Memory } from "@startlist/core"
import { DeliveryStore } from "@startlist/core/Delivery"
import { User } from "@startlist/core/User"
import type { Startlist } from "@startlist/embed"
import * as Layered from "@startlist/embed/Layered"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Block, parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as ControlPlane from "./internal/ControlPlane.ts"
import { deliveryFaults, type Fake, InvalidControl, responseFaults, type Who } from "./internal/Controls.ts"
import * as Faults from "./internal/Faults.ts"
import * as Listener from "./internal/Listener.ts"
import * as People from "./internal/People.ts"
import * as Time from "./internal/Time.ts"

export { InvalidControl } from "./internal/Controls.ts"
export type {
  Application,
  DeliveryFault,
  Fake,
  NextResponses,
  RecordedRequest,
  ResponseFault,
  Updates,
  Who
} from "./internal/Controls.ts"

/** Where the fake listens, and whom it trusts. */
export interface Options {
  /** Default: any free port. */
  readonly port?: number
  /** The address to listen on. Default: `127.0.0.1`. Any program that reaches it controls the fake. */
  readonly host?: string
  /** Names by which the fake may be called, besides `localhost` and addresses: `startlist` in a network of containers. */
  readonly names?: ReadonlyArray<string>
  /** Redirect URIs of the application. Addresses on loopback are also accepted. */
  readonly redirectUris?: ReadonlyArray<string>
  /** Networks of receivers besides loopback, such as `172.16.0.0/12` for containers. No other address is called. */
  readonly allow?: ReadonlyArray<string>
  /**
   * The clock of `webhook-timestamp`. `machine` (default): a receiver accepts events also after the time was moved.
   * `fake`: for a receiver that reads the time from `now`.
   */
  readonly signsBy?: "machine" | "fake"
}

const { Check } = Layered

const someTexts = Check.list(Check.text("a text"))

const checkOptions = Check.object<Options>({
  port: Check.value(
    "a port from 0 to 65535",
    (port) => Number.isInteger(port) && Number(port) >= 0 && Number(port) < 65_536
  ),
  host: Check.text("an address", (host) => host !== ""),
  names: someTexts,
  redirectUris: someTexts,
  allow: someTexts,
  signsBy: Check.oneOf("machine", "fake")
})

/** Refuses a user whom the service could not use. */
const checkUser = ({ email, firstName = "", lastName = "", role }: Omit<Startlist.User, "id">): void => {
  const require = <A>(schema: Schema.Schema<A>, value: unknown, field: string, message: string) => {
    if (!Schema.is(schema)(value)) throw new InvalidControl(field, message)
  }
  require(User.fields.role, role, "role", `must be one of ${User.fields.role.literals.join(", ")}`)
  require(User.fields.email, email, "email", "must be an e-mail address of at most 254 characters")
  require(User.fields.firstName, firstName, "first_name", "must be text of at most 200 characters")
  require(User.fields.lastName, lastName, "last_name", "must be text of at most 200 characters")
}

const blockOf = (cidr: string): Block =>
  Option.getOrThrowWith(
    parseBlock(cidr),
    () => new InvalidControl("allow", `${JSON.stringify(cidr)} is not a network such as 10.0.0.0/8`)
  )

/** Maximum step of time. Far longer ones overflow dates. */
const longest = Duration.days(36_500)

/** Durations: a number of milliseconds, or a text such as `8 hours`. */
const millisOf = (duration: Startlist.Duration): number => {
  const parsed = Duration.decodeUnknown(duration)
  const isNegative = String(duration).startsWith("-")
  if (isNegative || parsed._tag === "None" || Duration.greaterThan(parsed.value, longest)) {
    throw new InvalidControl("advance", "must be a duration such as \"8 hours\", of at most 36500 days")
  }
  return Duration.toMillis(parsed.value)
}

const requireFault = <Fault>(known: ReadonlyArray<Fault>, fault: Fault): void => {
  if (!known.includes(fault)) throw new InvalidControl("fault", `must be one of ${known.join(", ")}`)
}

/**
 * Starts a fake. Rejects if the port is in use, or an option is wrong.
 *
 * @example
 * ```ts
 * import { Fake } from "@startlist/fake"
 *
 * const fake = await Fake.start()
 * const registration = await fake.addRegistration({ athlete: "alice@athletes.example" })
 * await fake.changeRegistration(registration, { registration_status: "validated" })
 * await fake.advance("8 hours")
 * await fake.stop()
 * ```
 */
export const start = async (options: Options = {}): Promise<Fake> => {
  Check.demand(checkOptions, options, "options")
  const { allow = [], host = "127.0.0.1", names = [], port = 0, redirectUris = [], signsBy = "machine" } = options
  const networks = ["127.0.0.0/8", "::1/128", ...allow].map(blockOf)
  const { port: listensOn, serve, server } = await Listener.open(port, host)
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listensOn}`
  const clock = Time.makeClock()
  const people = People.make()
  const signsAt = signsBy === "machine" ? Date.now : () => clock.unsafeCurrentTimeMillis()
  const receivers = Faults.makeReceivers({ allow: networks, signsAt })
  const traffic = Faults.makeTraffic()
  let deliveries: DeliveryStore.Service | undefined
  const stores = Layer.map(Memory.layer, (context) => {
    deliveries = Context.get(context, DeliveryStore)
    return context
  })
  const time = Time.make(clock, () => deliveries ?? fail("the stores are not open"), receivers)
  const startlist = await Layered.make({ url, findUser: people.find, authentication: people.signIn }, {
    stores: Layer.merge(stores, Layer.setClock(clock)),
    callbacks: receivers.layer,
    secrets: NodeSecrets.layerDrawn
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
  const stop = async () => {
    server.close()
    server.closeAllConnections()
    await startlist.close()
  }
  const application = await addApplication({ name: "Race Planner", redirectUris }).catch(async (refused) => {
    await stop()
    throw refused
  })

  const fake: Fake = {
    url,
    application,
    users: people.all,
    addUser: (user) => {
      checkUser(user)
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
    nextResponses: (next) => {
      requireFault(responseFaults, next.fault)
      traffic.next(next)
    },
    nextDeliveries: (fault, count = 1) => {
      requireFault(deliveryFaults, fault)
      receivers.next(fault, count)
    },
    clearFaults: () => {
      traffic.clear()
      receivers.clear()
    },
    requests: () => [...traffic.recorded],
    clearRequests: () => void traffic.recorded.splice(0),
    deliveries: () => startlist.deliveries.list({ limit: 1000 }),
    stop
  }
  const control = ControlPlane.make(fake, people)
  serve(Listener.make({ url, names: [host, ...names], handler: startlist.handler, control, traffic, now: time.now }))
  return fake
}

const fail = (message: string): never => {
  throw new Error(message)
}
