/**
 * An application with several workers and one database, beside the whole service, in virtual time. Random programs change
 * registrations, revoke and reconnect, restart workers, lose answers, and bring events late, twice or never.
 */
import {
  type Client,
  createClient,
  type Event,
  type Inbox,
  memoryEvents,
  memoryTokens,
  type Tokens,
  TryLater
} from "@startlist/client"
import {
  Applications,
  Audit,
  Deliveries,
  Memory,
  OAuth,
  Registration,
  Registrations,
  Services,
  type User,
  Worker
} from "@startlist/core"
import { FailureLimit, HttpConfig, Mount, Protocol, WebHttp } from "@startlist/http"
import {
  ApplicationReceiver,
  Promises,
  TestSecrets,
  TestUsers,
  UnreliableNetwork,
  VirtualTime
} from "@startlist/testing"
import { Effect, FastCheck, Layer, Option, Redacted } from "effect"
import { expect } from "vitest"

const redirectUri = "https://club.example/back"
const callbackUrl = "https://club.example/events"

/** The outcome of each attempt of the next event. */
const troubles = {
  none: [],
  twice: [ApplicationReceiver.Fault.Twice({ by: "20 seconds" })],
  "answer lost": [ApplicationReceiver.Fault.AnswerLost()],
  late: [ApplicationReceiver.Fault.Late({ by: "20 seconds" })],
  "later than newer ones": [
    ApplicationReceiver.Fault.Late({ by: "4 minutes" }),
    ApplicationReceiver.Fault.Unreachable(),
    ApplicationReceiver.Fault.Unreachable()
  ],
  never: Array.from({ length: 3 }, () => ApplicationReceiver.Fault.Unreachable())
} as const

const networks = {
  good: undefined,
  "answer lost": UnreliableNetwork.Fault.AnswerLost(),
  "request lost": UnreliableNetwork.Fault.RequestLost(),
  repeated: UnreliableNetwork.Fault.Repeated(),
  delayed: UnreliableNetwork.Fault.AnswerDelayed({ by: "10 seconds" })
} as const

const keys = <A extends object>(of: A) => FastCheck.constantFrom(...Object.keys(of) as Array<keyof A>)
const kind = <K extends string>(name: K) => FastCheck.constant(name)
const place = FastCheck.nat(1)

const step = FastCheck.oneof(
  {
    weight: 4,
    arbitrary: FastCheck.record({
      kind: kind("change"),
      registration: place,
      status: FastCheck.nat(9),
      trouble: keys(troubles)
    })
  },
  { weight: 2, arbitrary: FastCheck.record({ kind: kind("revoke"), user: place, trouble: keys(troubles) }) },
  { weight: 2, arbitrary: FastCheck.record({ kind: kind("connect"), user: place, network: keys(networks) }) },
  { weight: 1, arbitrary: FastCheck.record({ kind: kind("disconnect"), user: place }) },
  {
    weight: 2,
    arbitrary: FastCheck.record({ kind: kind("use"), user: place, network: keys(networks), dies: FastCheck.boolean() })
  },
  { weight: 1, arbitrary: FastCheck.record({ kind: kind("restart"), handles: FastCheck.boolean() }) },
  { weight: 2, arbitrary: FastCheck.record({ kind: kind("redeliver"), delivery: FastCheck.nat(20) }) },
  { weight: 1, arbitrary: FastCheck.record({ kind: kind("catch up") }) },
  {
    weight: 3,
    arbitrary: FastCheck.record({ kind: kind("wait"), seconds: FastCheck.constantFrom(1, 10, 70, 250, 30_000) })
  }
)

export type Step = typeof step extends FastCheck.Arbitrary<infer A> ? A : never

export const program = FastCheck.record({
  seed: FastCheck.nat(),
  late: FastCheck.constantFrom("flag" as const, "skip" as const),
  steps: FastCheck.array(step, { minLength: 3, maxLength: 14, size: "max" })
})

/** Parts of the client with a fault. */
export interface Planted {
  readonly event?: (event: Event) => Event
  readonly tokens?: (tokens: Tokens) => Tokens
}

/** Ends calls of a process that was killed: none returns. */
const mortal = <A extends object>(calls: A, isAlive: () => boolean): A =>
  new Proxy(calls, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== "function") return value
      const never = new Promise(() => {})
      return async (...input: ReadonlyArray<unknown>) => {
        if (!isAlive()) return never
        const answer: unknown = await value.apply(target, input)
        return isAlive() ? answer : never
      }
    }
  })

interface Process {
  readonly client: Client
  readonly tokens: Tokens
  readonly inbox: Inbox
  readonly isAlive: () => boolean
  readonly kill: () => void
  /** Fails when it is killed. */
  readonly ended: Promise<never>
  /** It ends when it has handled the next event, before it has stored that. */
  diesAfterHandling: boolean
}

interface Settings {
  readonly client: Omit<Parameters<typeof createClient>[0], "fetch">
  readonly fetch: typeof globalThis.fetch
  readonly signingSecret: string
  readonly late: "flag" | "skip"
  readonly planted: Planted
}

/** The application: processes with one database. */
const makeApplication = ({ client: options, fetch, late, planted, signingSecret }: Settings) => {
  const connections = memoryTokens()
  const events = memoryEvents()
  /** The shown state of each registration, with the sequence of the event. */
  const statuses = new Map<number, { readonly status: string; readonly sequence: number }>()
  const mistakes: Array<string> = []

  const start = (): Process => {
    let lives = true
    const isAlive = () => lives
    let kill = () => {}
    const ended = new Promise<never>((_, reject) => {
      kill = () => {
        lives = false
        reject(new TryLater("the process has ended"))
      }
    })
    ended.catch(() => {})
    const client = createClient({ ...options, fetch: mortal({ fetch }, isAlive).fetch })
    const tokens = (planted.tokens ?? ((given) => given))(client.tokens(mortal(connections, isAlive)))
    const handle = async (given: Event) => {
      const event = planted.event?.(given) ?? given
      if (event.type === "access.revoked") await tokens.forget(event)
      if (event.type === "registration.changed") {
        const { id, isLate, registrationId, sequence = 0, updates: { registration_status: status } } = event
        const shown = statuses.get(registrationId)?.sequence ?? 0
        if (isLate !== sequence < shown) {
          mistakes.push(`${id} has isLate ${isLate}, after ${shown} and with ${sequence}`)
        }
        if (isLate && late === "skip") mistakes.push(`${id} is late, and was not left out`)
        if (!isLate) statuses.set(registrationId, { status, sequence })
      }
      if (process.diesAfterHandling) kill()
    }
    const inbox = client.inbox({
      store: mortal(events, isAlive),
      verifyToken: "club",
      signingSecrets: () => [signingSecret],
      handle,
      late,
      onError: (error) => mistakes.push(`the handler failed: ${String(error)}`)
    })
    const process: Process = { client, tokens, inbox, isAlive, kill, ended, diesAfterHandling: false }
    return process
  }

  const processes = [start(), start()]
  let turn = 0
  /** Any process that is alive. Those that have died are started again. */
  const any = (): Process => {
    turn = (turn + 1) % processes.length
    const found = processes[turn]
    if (found?.isAlive() === true) return found
    return processes[turn] = start()
  }
  /** Runs a call in any process, and again if its answer is lost or the process ends. */
  const run = <A>(call: (process: Process) => Promise<A>): Promise<A> =>
    patiently(() => {
      const one = any()
      return Promise.race([call(one), one.ended])
    })
  return {
    any,
    run,
    /** Handles all events that nothing prevents from being handled. */
    process: async () => {
      for (const _ of processes) await run(({ inbox }) => inbox.process())
    },
    receive: (request: Request) => {
      const { ended, inbox } = any()
      return Promise.race([inbox.fetch(request), ended])
    },
    restart: (handles: boolean) => {
      const one = any()
      if (handles) one.diesAfterHandling = true
      else one.kill()
    },
    close: () => Promise.all(processes.map(({ inbox, isAlive }) => isAlive() ? inbox.close() : undefined)),
    connections,
    mistakes,
    statuses
  }
}

/** A few turns of the event loop. */
const turns = async () => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Repeats a call whose answer was lost. */
const patiently = async <A>(call: () => Promise<A>, left = 5): Promise<A> => {
  try {
    return await call()
  } catch (error) {
    if (left === 0 || !(error instanceof TryLater)) throw error
    return patiently(call, left - 1)
  }
}

/** Runs a program. Fails if the application shows an older state, or differs from the service at the end. */
export const check = (
  { late, seed, steps }: { readonly seed: number; readonly late: "flag" | "skip"; readonly steps: ReadonlyArray<Step> },
  planted: Planted = {}
): Effect.Effect<void> => {
  let application: ReturnType<typeof makeApplication> | undefined
  const receiver = ApplicationReceiver.layer((request) => application?.receive(request) ?? Promise.reject(request))
  const service = Layer.mergeAll(Worker.layer, FailureLimit.layerMemory, HttpConfig.layerLocal).pipe(
    Layer.provideMerge(Services.layer),
    Layer.provideMerge(Layer.mergeAll(Audit.none, Memory.layer, TestSecrets.layer("club"), TestUsers.layer, receiver))
  )
  return Effect.gen(function*() {
    const { add } = yield* TestUsers.TestUsers
    const person = (role: User.Role) => add({ role, email: `${role}@club.example`, firstName: "A", lastName: "B" })
    const [owner, athlete, organizer] = [
      yield* person("platform"),
      yield* person("athlete"),
      yield* person("organizer")
    ]
    const users = [athlete, organizer] as const
    const applications = yield* Applications.Applications
    const deliveries = yield* Deliveries.Deliveries
    const oauth = yield* OAuth.OAuth
    const registrations = yield* Registrations.Registrations
    const { next, none } = yield* ApplicationReceiver.ApplicationReceiver
    const created = yield* applications.create(owner.id, {
      name: "Club",
      redirectUris: [redirectUri],
      requirePkce: true
    })
    const clientId = created.application.id
    const network = yield* UnreliableNetwork.make(yield* WebHttp.handler(yield* Mount.make([Protocol.routes])))
    const clock = yield* Effect.clock
    const made = application = makeApplication({
      client: {
        url: "https://startlist.example",
        clientId,
        clientSecret: Redacted.value(created.secret),
        redirectUri,
        now: () => clock.unsafeCurrentTimeMillis()
      },
      fetch: network.fetch,
      signingSecret: Redacted.value(created.signingSecret),
      late,
      planted
    })
    const { any, connections, mistakes, run, statuses } = made
    const connected = new Set<User.User>()
    const keyOf = ({ role }: User.User) => `the ${role}`

    const connect = Effect.fn(function*(user: User.User, fault: keyof typeof networks = "good") {
      // Nobody connects again within the second of a revocation.
      yield* Effect.sleep("1 second")
      const { keep, url } = yield* Promises.run(() => run(({ client }) => client.authorize({ scope: "read" })))
      const back = yield* TestUsers.consent(user, url)
      yield* network.next([networks[fault], networks[fault]], "/oauth/")
      yield* Promises.run(() =>
        run(async ({ client, tokens }) => tokens.connect(keyOf(user), await client.finish(back, keep)))
      )
      yield* network.none
      connected.add(user)
    })

    /** A connected user stays connected: processes that ask at the same time get the same valid token. */
    const use = Effect.fn(function*(user: User.User, workers = 1) {
      const ask = () => run(({ tokens }) => tokens.accessFor(keyOf(user))).catch((error: unknown) => String(error))
      const [token = "", ...others] = yield* Promises.run(() => Promise.all(Array.from({ length: workers }, ask)))
      expect(others.filter((other) => other !== token)).toEqual([])
      const access = yield* Effect.option(oauth.authenticate(Redacted.make(token)))
      expect(Option.map(access, ({ userId }) => userId), token).toEqual(Option.some(user.id))
    })

    yield* connect(owner)
    const subscribing = yield* Promises.run(() => run(({ tokens }) => tokens.accessFor(keyOf(owner))))
    yield* Promises.run(() => run(({ client }) => client.subscribe(subscribing, callbackUrl, "club")))
    for (const user of users) yield* connect(user)
    const parties: Registration.Parties = {
      athleteId: athlete.id,
      organizerId: Option.some(organizer.id),
      clubId: Option.none(),
      platformUserId: Option.some(owner.id)
    }
    const updates = Registration.emptyUpdates
    const all = [
      yield* registrations.create({ parties, updates }),
      yield* registrations.create({ parties, updates })
    ] as const

    const perform = Effect.fn(function*(step: Step) {
      switch (step.kind) {
        case "change":
          yield* next(troubles[step.trouble])
          yield* registrations.change((all[step.registration] ?? all[0]).id, {
            registration_status: `${step.status}`
          })
          return yield* Effect.sleep("1 second")
        case "revoke": {
          const user = users[step.user] ?? athlete
          if (!connected.delete(user)) return
          yield* next(troubles[step.trouble])
          yield* oauth.revokeByUser(clientId, user.id)
          return yield* Effect.sleep("1 second")
        }
        case "connect":
          return yield* connect(users[step.user] ?? athlete, step.network)
        case "disconnect": {
          const user = users[step.user] ?? athlete
          yield* Promises.run(() => run(({ tokens }) => tokens.disconnect(keyOf(user))))
          connected.delete(user)
          return
        }
        case "use": {
          const user = users[step.user] ?? athlete
          if (!connected.has(user)) return
          yield* network.next([networks[step.network]], "/oauth/token")
          if (step.dies) {
            const dying = any()
            yield* Promises.run(() => Promise.race([dying.tokens.accessFor(keyOf(user)).catch(() => {}), turns()]))
            dying.kill()
          }
          yield* use(user, 2)
          return yield* network.none
        }
        case "restart":
          return made.restart(step.handles)
        case "redeliver": {
          const found = yield* deliveries.list({
            applicationId: Option.none(),
            state: Option.none(),
            after: Option.none(),
            limit: 100
          })
          const one = found[step.delivery % Math.max(found.length, 1)]
          if (one !== undefined) yield* Effect.ignore(deliveries.redeliver(one.id))
          return yield* Effect.sleep("1 second")
        }
        case "catch up":
          return yield* catchUp
        case "wait":
          yield* Effect.sleep(step.seconds * 1000)
          return yield* Promises.run(made.process)
      }
    })

    const catchUp = Effect.gen(function*() {
      const token = yield* Promises.run(() => run(({ tokens }) => tokens.accessFor(keyOf(owner))))
      yield* Promises.run(() => run(({ inbox }) => inbox.catchUp(token)))
    })

    for (const one of steps) {
      yield* perform(one)
      expect(mistakes.join()).toBe("")
      for (const user of connected) yield* use(user)
    }

    // All faults end. The last one of a lease is over after a minute.
    yield* none
    yield* network.none
    yield* Effect.sleep("10 minutes")
    for (const _ of [1, 2]) {
      yield* catchUp
      yield* Effect.sleep("2 minutes")
      yield* Promises.run(made.process)
    }
    yield* Promises.run(made.close)
    expect(mistakes.join()).toBe("")
    for (const { id } of all) {
      const { updates, version } = yield* registrations.find(id)
      const shown = version === 1 ? undefined : { status: updates.registration_status, sequence: version }
      expect(statuses.get(id)).toEqual(shown)
    }
    for (const user of [owner, ...users]) {
      const isConnected = (yield* oauth.authorized(user.id)).length === 1
      expect([user.role, isConnected]).toEqual([user.role, connected.has(user)])
      const found = yield* Promises.run(() => connections.load(keyOf(user)))
      expect(found !== undefined, `the application counts the ${user.role} as connected`).toBe(isConnected)
      if (isConnected) yield* use(user)
    }
  }).pipe(Effect.provide(service), Effect.orDie, (whole) => VirtualTime.run(whole, { seed }))
}

const property = (planted?: Planted) =>
  FastCheck.asyncProperty(program, (one) => Effect.runPromise(check(one, planted)))

/** Checks random programs. A failure prints the smallest one. */
export const holds = (numRuns: number): Promise<void> => FastCheck.assert(property(), { numRuns })

export interface Fault {
  readonly name: string
  readonly planted: Planted
  /** The program that shows it first, from seed 1. */
  readonly path: string
  /** In the message of the failure. */
  readonly message: string
}

export const faults: ReadonlyArray<Fault> = [
  {
    name: "isLate is never set",
    planted: { event: (event) => ({ ...event, isLate: false }) },
    path: "30",
    message: "has isLate false"
  },
  {
    name: "forget ignores the time",
    planted: {
      tokens: (tokens) => ({ ...tokens, forget: (event) => tokens.forget({ ...event, time: new Date(8.64e15) }) })
    },
    path: "14",
    message: "the application counts the"
  }
]

/** Checks random programs until one shows the fault. With `path`, checks only the program there. */
export const expectFound = async ({ message, planted }: Fault, path?: string): Promise<void> => {
  const search = path === undefined ? { numRuns: 200 } : { path }
  const found = await FastCheck.check(property(planted), { ...search, seed: 1, endOnFailure: true })
  expect(found.failed, "not found: after a change of the programs, take the path from the system tier").toBe(true)
  expect(String(found.errorInstance)).toContain(message)
  if (path === undefined) console.log(`path ${found.counterexamplePath}`)
}
