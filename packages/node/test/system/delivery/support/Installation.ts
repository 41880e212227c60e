/**
 * A PostgreSQL with users, applications and subscriptions. The test changes registrations as an embedder does, with the
 * core on the same database; the nodes are separate processes.
 */
import {
  Application,
  Applications,
  Deliveries,
  type Delivery,
  Grant,
  Registration,
  Registrations,
  Subscription,
  User
} from "@startlist/core"
import { Postgres, Users } from "@startlist/postgres"
import { Context, DateTime, Effect, Layer, Option, Redacted, Schedule, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { masterKey, services } from "@startlist/test-support/StoreFixtures"
import { patience } from "@startlist/test-support/Patience"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { type Environment, type Service, startService, testProgram } from "@startlist/test-support/ServiceProcess"
import type { Behaviour, Receiver } from "@startlist/test-support/Receiver"

/** The lease of these nodes: as short as possible, but well above the callback timeout of 2 s. */
export const leaseMillis = 3000

const quickLease = testProgram(new URL("./quickLease.ts", import.meta.url))

/** An application with its subscription. */
export interface Subscriber {
  readonly path: string
  readonly application: Application.Application
  readonly subscription: Subscription.Subscription
}

const owner = { role: "platform", firstName: "O", lastName: "P" } as const
const athlete = { role: "athlete", firstName: "A", lastName: "B" } as const

export interface Installation extends Effect.Effect.Success<ReturnType<typeof makeInstallation>> {}

const summary = (deliveries: ReadonlyArray<Delivery.Delivery>): string =>
  [...grouped(deliveries, ({ state }) => state)].map(([state, of]) => `${of.length} ${state}`).join(", ")

/** An installation with its own database. */
export const makeInstallation = () =>
  Effect.gen(function*() {
    const { admin, url } = yield* TestDatabase.make
    const context = yield* Layer.build(services(Postgres.layer({ url })))
    const applications = Context.get(context, Applications.Applications)
    const deliveries = Context.get(context, Deliveries.Deliveries)
    const grants = Context.get(context, Grant.GrantStore)
    const registrations = Context.get(context, Registrations.Registrations)
    const subscriptions = Context.get(context, Subscription.SubscriptionStore)
    const users = Context.get(context, Users.Users)
    const platform = yield* Effect.orDie(users.insert({ ...owner, email: "owner@example.test" }))

    const environment = (databaseUrl: string): Environment & { readonly DATA_DIR: string } => ({
      DATABASE_URL: databaseUrl,
      OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
      MASTER_KEY: Redacted.value(masterKey),
      DATA_DIR: "/nonexistent",
      DELIVERY_DELAYS: "200ms,400ms",
      LEASE_MILLIS: String(leaseMillis)
    })

    /** A process that delivers, until the scope closes. */
    const node = (settings: Environment = {}): Effect.Effect<Service, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.promise(() =>
          startService({ ...environment(Redacted.value(url)), ROLES: "worker", ...settings }, quickLease)
        ),
        (service) => Effect.promise(() => service.stop("SIGKILL"))
      )

    const newAthlete = Effect.suspend(() =>
      users.insert({ ...athlete, email: `${randomBytes(6).toString("hex")}@example.test` })
    ).pipe(Effect.orDie)

    /** A user grants an application access. */
    const consent = (user: User.User, applicationId: number) =>
      Effect.gen(function*() {
        const grant = Grant.Grant.make({
          applicationId: Application.ApplicationId.make(applicationId),
          userId: user.id,
          version: 1,
          status: "active",
          role: user.role,
          scope: ["read"],
          epoch: 1,
          applicationEpoch: 0,
          generation: 0,
          lineStart: 1,
          grantedAt: yield* DateTime.now,
          refresh: Option.none(),
          access: [],
          codes: []
        })
        yield* grants.save({ grant, outgoing: [] })
      }).pipe(Effect.orDie)

    /** A subscriber that gets the events about these users. */
    const subscribe = (receiver: Receiver, path: string, tellOf: ReadonlyArray<User.User>, behaviour?: Behaviour) =>
      Effect.gen(function*() {
        const settings = { name: path, redirectUris: [], requirePkce: false }
        const { application, signingSecret } = yield* applications.create(platform.id, settings)
        yield* Effect.forEach(tellOf, (user) => consent(user, application.id))
        const now = yield* DateTime.now
        receiver.verify(path, Redacted.value(signingSecret))
        if (behaviour !== undefined) receiver.behave(path, behaviour)
        const subscription = yield* subscriptions.insert({
          applicationId: application.id,
          callbackUrl: receiver.urlOf(path),
          createdAt: now,
          updatedAt: now
        })
        return { path, application, subscription }
      }).pipe(Effect.orDie)

    const register = (user: User.User) =>
      registrations.create({
        parties: {
          athleteId: user.id,
          organizerId: Option.none(),
          clubId: Option.none(),
          platformUserId: Option.none()
        },
        updates: Registration.emptyUpdates
      }).pipe(Effect.orDie, Effect.map(({ id }) => id))

    /** Commits a change together with its events. */
    const change = (id: Registration.RegistrationId, status: string) =>
      Effect.orDie(registrations.change(id, { registration_status: status }))

    /** The deliveries to a subscriber, oldest first. */
    const recorded = ({ application }: Subscriber): Effect.Effect<ReadonlyArray<Delivery.Delivery>> =>
      deliveries.list({
        applicationId: Option.some(application.id),
        state: Option.none(),
        after: Option.none(),
        limit: 100_000
      }).pipe(Effect.orDie, Effect.map((newestFirst) => [...newestFirst].reverse()))

    /** Waits until the deliveries to a subscriber satisfy a condition. */
    const until = (
      subscriber: Subscriber,
      what: string,
      condition: (deliveries: ReadonlyArray<Delivery.Delivery>) => boolean
    ) =>
      recorded(subscriber).pipe(
        Effect.filterOrFail(condition, (found) => `${what} did not come: ${summary(found)}`),
        Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurUpTo(patience))),
        Effect.orDieWith((last) => new Error(String(last)))
      )

    /** When the lease of the only claimed delivery ends, in milliseconds since 1970. */
    const leaseEnds = Effect.promise(async () => {
      const { rows } = await admin.query("SELECT lease_ends FROM startlist_deliveries WHERE lease_ends IS NOT NULL")
      return Number(rows[0]?.lease_ends)
    })

    return {
      admin,
      change,
      consent,
      leaseEnds,
      newAthlete,
      node,
      recorded,
      register,
      subscribe,
      subscriptions,
      until,
      url
    }
  })

/** Waits until a moment, in milliseconds since 1970. */
export const untilTime = (millis: number) => Effect.suspend(() => Effect.sleep(Math.max(0, millis - Date.now())))

/** Elements under their keys, in their order. */
export const grouped = <A, K>(elements: ReadonlyArray<A>, keyOf: (element: A) => K): ReadonlyMap<K, Array<A>> => {
  const groups = new Map<K, Array<A>>()
  for (const element of elements) {
    const group = groups.get(keyOf(element))
    if (group === undefined) groups.set(keyOf(element), [element])
    else group.push(element)
  }
  return groups
}
