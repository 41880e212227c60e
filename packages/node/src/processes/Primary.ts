/**
 * The primary of the processes of a node, which Node's cluster calls so. It serves no requests: it starts the others,
 * replaces those that end, counts failed sign-ins for all, and merges their metrics.
 *
 * - `PROCESSES` of them serve requests on the same address. Node gives them the connections in turn.
 * - One more process delivers.
 * - A process that hangs is killed and replaced.
 * - SIGHUP replaces all, one after the other, with the program on the disk.
 */
import cluster from "node:cluster"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client"
import * as FailureLimit from "@startlist/http/FailureLimit"
import type { Configuration } from "../settings/Configuration.ts"
import { logDoubts } from "../doctor/Finding.ts"
import * as Log from "../telemetry/Log.ts"
import { merge } from "../telemetry/Prometheus.ts"
import * as Link from "./Link.ts"
import { hangUps, nameVariable } from "./Member.ts"

/** A process did not start. The message is empty if the process has printed the reason itself. */
export class NotStarted extends Data.TaggedError("@startlist/node/NotStarted")<{ readonly message: string }> {}

interface Child {
  readonly link: Link.Link
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void
  readonly startedAt: number
  /** Whether it was killed because it did not answer. */
  hung: boolean
  /** Its start line, once it serves. */
  readonly ready: Deferred.Deferred<string, NotStarted>
  /** The signal or status with which it has ended, or why it could not be started. */
  readonly ended: Deferred.Deferred<string>
}

/** Metrics of one place of a node, which its successive processes share. */
interface PlaceMetrics {
  /** Its process has answered. */
  readonly answered: () => void
  /** Its process is replaced because it has ended, or because it hung. */
  readonly replaced: (reason: "ended" | "hung") => void
  /** The metrics as Prometheus text. */
  readonly page: Effect.Effect<string>
}

/** Metrics of a place, with these labels. They exist from the start, so that an alert sees the first replacement. */
const makeMetrics = (labels: Readonly<Record<string, string>>): PlaceMetrics => {
  const registry = new Registry()
  registry.setDefaultLabels(labels)
  let last = performance.now()
  const registers = [registry]
  new Gauge({
    name: "startlist_process_answer_age_seconds",
    help: "Time since this process has answered the first process of its node",
    registers,
    collect() {
      this.set((performance.now() - last) / 1000)
    }
  })
  const replacements = new Counter({
    name: "startlist_processes_replaced_total",
    help: "Replacements of this process, because it ended or hung",
    labelNames: ["reason"],
    registers
  })
  for (const reason of ["ended", "hung"]) replacements.inc({ reason }, 0)
  return {
    answered: () => {
      last = performance.now()
    },
    replaced: (reason) => replacements.inc({ reason }),
    page: Effect.promise(() => registry.metrics())
  }
}

/** A place, held by one process at a time. */
interface Place {
  readonly name: string
  readonly roles: string
  readonly metrics: PlaceMetrics
  child: Child
}

type Vacancy = Omit<Place, "child">

/** Starts a process in a place. */
type StartIn = (place: Vacancy) => Effect.Effect<Child, NotStarted, Scope.Scope>

type Answer = (question: unknown) => Effect.Effect<unknown, unknown>

/** A process that ran longer than this started successfully, so the pauses begin again. */
const wellAfterMillis = 60_000

/** Seconds until an ended process is replaced: longer each time, if its successors end soon. */
const pauses = [0, 1, 2, 4, 8, 16, 30]

/** Time until a replaced process is killed. It ends earlier unless it is stuck. */
const retirement = Duration.seconds(90)

/** Timeout in milliseconds for the metrics of a process. */
const metricsPatience = 3000

const notStarted = (error: unknown) =>
  new NotStarted({ message: `a process cannot be started: ${error instanceof Error ? error.message : String(error)}` })

const decodeQuestion = Schema.decodeUnknown(Link.Question)
const decodePage = Schema.decodeUnknown(Link.Page)
const decodeReady = Schema.decodeUnknownOption(Link.Ready)
const encodeWait = Schema.encodeSync(Link.Wait)

/** Interval between two questions whether a process answers, and the timeout of an answer. */
const beat = Duration.seconds(5)

/** Number of questions in a row without an answer after which a process hangs: busy ones answer late. */
const maxMissed = 3

/** Asks a process again and again. Succeeds when it hangs, or has ended. */
const untilHung = ({ link }: Child, onAnswer: () => void): Effect.Effect<void> =>
  link.ask(Link.Beat.make({}), Duration.toMillis(beat)).pipe(
    Effect.retry({ times: maxMissed - 1 }),
    Effect.tap(() => Effect.sync(onAnswer)),
    Effect.repeat(Schedule.spaced(beat)),
    Effect.ignore
  )

/** Kills a process that hangs. `keep` replaces it. */
const watch = (child: Child, { metrics, name }: Vacancy) =>
  Effect.gen(function*() {
    yield* Deferred.await(child.ready)
    yield* untilHung(child, metrics.answered)
    if (yield* Deferred.isDone(child.ended)) return
    yield* Effect.logError(`process ${name} does not answer and is killed`)
    child.hung = true
    child.kill("SIGKILL")
  }).pipe(Effect.catchTag("@startlist/node/NotStarted", () => Effect.void))

const start = (all: Set<Child>, answer: Answer, place: Vacancy): Effect.Effect<Child, NotStarted, Scope.Scope> =>
  Effect.gen(function*() {
    const { name, roles } = place
    const ready = yield* Deferred.make<string, NotStarted>()
    const ended = yield* Deferred.make<string>()
    const startedAt = yield* Clock.currentTimeMillis
    const worker = yield* Effect.try({
      try: () => cluster.fork({ ROLES: roles, PROCESSES: "1", [nameVariable]: name }),
      catch: notStarted
    })
    const link = Link.open(
      {
        send: (message, onSent) => worker.process.send(message, undefined, undefined, onSent),
        on: (onMessage) => worker.on("message", onMessage)
      },
      answer,
      (message) => {
        for (const { line } of Option.toArray(decodeReady(message))) {
          Deferred.unsafeDone(ready, Effect.succeed(line))
        }
      }
    )
    // Without a process, Node would send the signal to the group of this one.
    const hasProcess = () => worker.process.pid !== undefined
    const kill = (signal: "SIGTERM" | "SIGKILL"): void => {
      if (hasProcess()) worker.process.kill(signal)
    }
    const child: Child = { link, kill, startedAt, ready, ended, hung: false }
    all.add(child)
    const settle = (how: string, reason: NotStarted): void => {
      all.delete(child)
      Deferred.unsafeDone(ready, reason)
      Deferred.unsafeDone(ended, Effect.succeed(how))
    }
    worker.once("exit", (status, signal: string | null) => {
      const message = signal === null ? "" : `a process ended before it had started: ${signal}`
      settle(signal ?? `status ${status}`, new NotStarted({ message }))
    })
    // Without a listener, an error of a process would end this one.
    worker.on("error", (error) => {
      if (!hasProcess()) settle(error.message, notStarted(error))
    })
    yield* Effect.forkScoped(watch(child, place))
    return child
  })

/** Milliseconds until a stopping process is killed: longer than the longest drain, and shorter than the limit of `main`. */
const stopPatience = 8500

const stop = ({ ended, kill }: Child): Effect.Effect<string> =>
  Effect.suspend(() => {
    kill("SIGTERM")
    const timer = setTimeout(() => kill("SIGKILL"), stopPatience)
    return Effect.ensuring(Deferred.await(ended), Effect.sync(() => clearTimeout(timer)))
  })

/** Starts a new process whenever the one of a place has ended. Ends when `replaceAll` has given the place to another one. */
const keep = (place: Place, startIn: StartIn): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.iterate({ child: place.child, deaths: 0 }, {
    while: ({ child }) => place.child === child,
    body: ({ child, deaths }) =>
      Effect.gen(function*() {
        const how = yield* Deferred.await(child.ended)
        if (place.child !== child) return { child, deaths }
        place.metrics.replaced(child.hung ? "hung" : "ended")
        const livedMillis = (yield* Clock.currentTimeMillis) - child.startedAt
        const recent = livedMillis > wellAfterMillis ? 0 : deaths
        const seconds = pauses[Math.min(recent, pauses.length - 1)] ?? 0
        yield* Effect.logError(
          `process ${place.name} ended (${how}) and is replaced ${seconds === 0 ? "now" : `in ${seconds} s`}`
        )
        yield* Effect.sleep(Duration.seconds(seconds))
        if (place.child !== child) return { child, deaths }
        const successor = yield* Effect.either(startIn(place))
        if (Either.isLeft(successor)) {
          yield* Effect.logError(successor.left.message)
          return { child, deaths: recent + 1 }
        }
        place.child = successor.right
        return { child: successor.right, deaths: recent + 1 }
      })
  })

/** Replaces one process after the other. Each serves until its successor does. */
const replaceAll = (places: ReadonlyArray<Place>, startIn: StartIn) =>
  Effect.gen(function*() {
    yield* Effect.log("SIGHUP: every process is replaced, one after the other")
    for (const place of places) {
      const successor = yield* startIn(place)
      yield* Deferred.await(successor.ready)
      const previous = place.child
      place.child = successor
      // Of its own: the previous process may take a minute to end.
      yield* Effect.fork(keep(place, startIn))
      previous.link.tell(Link.Retire.make({}))
      yield* Effect.timeoutOption(Deferred.await(previous.ended), retirement)
      previous.kill("SIGKILL")
    }
    yield* Effect.log("every process was replaced")
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.logError(
        `a new process did not start (${message === "" ? "see the lines above" : message}), `
          + "so the present processes continue"
      )
    )
  )

const placesOf = ({ processes, roles }: Configuration) => [
  ...Array.from({ length: processes }, (_, index) => ({ name: String(index + 1), roles: "api" })),
  ...(roles.has("worker") ? [{ name: "delivery", roles: "worker" }] : [])
]

/** Runs a node of several processes until it is interrupted. Fails if one of them cannot start. */
export const run = (configuration: Configuration): Effect.Effect<never, NotStarted> =>
  Effect.gen(function*() {
    const hangUp = yield* hangUps
    yield* logDoubts(configuration)
    const failures = yield* FailureLimit.FailureLimit
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    const labels = Option.match(configuration.installation, {
      onNone: () => ({}),
      onSome: (installation) => ({ installation })
    })
    registry.setDefaultLabels(labels)
    const all = new Set<Child>()
    const places: Array<Place> = []

    /** Omits a process that is too busy to answer. */
    const metrics = Effect.gen(function*() {
      const pages = yield* Effect.forEach(places, ({ child, name }) =>
        child.link.ask(Link.Metrics.make({}), metricsPatience).pipe(
          Effect.flatMap(decodePage),
          Effect.map(({ body }) => ({ body, process: name })),
          Effect.option
        ), { concurrency: "unbounded" })
      const answers = yield* Effect.forEach(places, ({ metrics, name }) =>
        Effect.map(metrics.page, (body) => ({ body, process: name })))
      const own = {
        body: yield* Effect.promise(() =>
          registry.metrics()
        ),
        process: "primary"
      }
      return { contentType: registry.contentType, body: merge([...pages.flatMap(Option.toArray), ...answers, own]) }
    })
    const answer: Answer = (question) =>
      Effect.flatMap(decodeQuestion(question), (asked): Effect.Effect<unknown> => {
        switch (asked._tag) {
          case "Take":
            return Effect.map(failures.take(asked.keys), (wait) =>
              encodeWait(Option.getOrNull(wait)))
          case "GiveBack":
            return Effect.as(failures.giveBack(asked.keys), null)
          case "Metrics":
            return metrics
        }
      })
    const startIn: StartIn = (place) =>
      start(all, answer, place)

    const serve = Effect.gen(function*() {
      // Wait for the first one, which migrates the tables. If it cannot start, no other can.
      for (const position of placesOf(configuration)) {
        const place = { ...position, metrics: makeMetrics(labels) }
        const child = yield* startIn(place)
        places.push({ ...place, child })
        if (places.length === 1) {
          yield* Deferred.await(child.ready)
        }
      }
      const [line] = yield* Effect.forEach(places, ({ child }) =>
        Deferred.await(child.ready))
      yield* Effect.log(`${line}; processes: ${places.map(({ name }) => name).join(", ")}`)
      const keeping = Effect.forEach(places, (place) => keep(place, startIn), { concurrency: "unbounded" })
      const replacing = Effect.forever(Effect.zipRight(hangUp, replaceAll(places, startIn)))
      return yield* Effect.zipRight(Effect.all([keeping, replacing], { concurrency: "unbounded" }), Effect.never)
    })
    return yield* Effect.ensuring(
      serve,
      Effect.suspend(() => Effect.forEach(all, stop, { concurrency: "unbounded", discard: true }))
    )
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(FailureLimit.layerMemory, Log.layer(configuration))))
