/**
 * The first of several processes of a node. It serves no requests: it starts the others, replaces those that end,
 * counts failed sign-ins for all, and merges their metrics.
 *
 * - `PROCESSES` of them serve requests on the same address. Node gives them the connections in turn.
 * - One more process delivers.
 * - SIGHUP replaces all, one after the other, with the program on the disk.
 */
import type { Worker } from "node:cluster"
import cluster from "node:cluster"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as FailureLimit from "@startlist/http/FailureLimit"
import type { Configuration } from "../Configuration.ts"
import * as HangUp from "../HangUp.ts"
import * as Log from "../Log.ts"
import { watch } from "../metrics/Process.ts"
import { logDoubts } from "../Settings.ts"
import * as Channel from "./Channel.ts"
import * as Message from "./Message.ts"
import { merge } from "./MetricsPage.ts"
import { nameVariable } from "./Process.ts"

/** A process did not start. The message is empty if the process has printed the reason itself. */
export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly message: string }> {}

interface Ended {
  readonly status: number
  readonly signal: string | null
}

interface Child {
  readonly worker: Worker
  readonly channel: Channel.Channel
  readonly startedAt: number
  /** Its start line, once it serves. */
  readonly ready: Deferred.Deferred<string, NotStarted>
  readonly ended: Deferred.Deferred<Ended>
}

/** A place, held by one process at a time. */
interface Place {
  readonly name: string
  readonly roles: string
  child: Child
}

type Answer = (question: unknown) => Effect.Effect<unknown, unknown>

/** A process that ran longer than this started successfully, so the pauses begin again. */
const wellAfterMillis = 60_000

/** Seconds until an ended process is replaced: longer each time, if its successors end soon. */
const pauses = [0, 1, 2, 4, 8, 16, 30]

/** Time until a replaced process is killed. It ends earlier unless it is stuck. */
const retirement = Duration.seconds(90)

/** Timeout in milliseconds for the metrics of a process. */
const metricsPatience = 5000

const describe = ({ signal, status }: Ended): string => signal ?? `status ${status}`

const decodeQuestion = Schema.decodeUnknown(Message.Question)
const decodePage = Schema.decodeUnknown(Message.Page)
const decodeReady = Schema.decodeUnknownOption(Message.Ready)
const encodeWait = Schema.encodeSync(Message.Wait)

const start = (all: Set<Child>, answer: Answer, { name, roles }: Pick<Place, "name" | "roles">): Effect.Effect<Child> =>
  Effect.gen(function*() {
    const ready = yield* Deferred.make<string, NotStarted>()
    const ended = yield* Deferred.make<Ended>()
    const startedAt = yield* Clock.currentTimeMillis
    const worker = cluster.fork({ ROLES: roles, PROCESSES: "1", [nameVariable]: name })
    const channel = Channel.open(
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
    const child = { worker, channel, startedAt, ready, ended }
    all.add(child)
    worker.once("exit", (status, signal) => {
      all.delete(child)
      const how = { status, signal }
      const message = signal === null ? "" : `a process ended before it had started: ${describe(how)}`
      Deferred.unsafeDone(ready, new NotStarted({ message }))
      Deferred.unsafeDone(ended, Effect.succeed(how))
    })
    return child
  })

const stop = ({ ended, worker }: Child): Effect.Effect<Ended> =>
  Effect.zipRight(Effect.sync(() => worker.process.kill("SIGTERM")), Deferred.await(ended))

/** Starts a new process whenever one has ended without a successor. */
const keep = (place: Place, startIn: (place: Place) => Effect.Effect<Child>): Effect.Effect<never> =>
  Effect.iterate(0, {
    while: () => true,
    body: (deaths) =>
      Effect.gen(function*() {
        const { child } = place
        const how = yield* Deferred.await(child.ended)
        if (place.child !== child) return deaths
        const livedMillis = (yield* Clock.currentTimeMillis) - child.startedAt
        const recent = livedMillis > wellAfterMillis ? 0 : deaths
        const seconds = pauses[Math.min(recent, pauses.length - 1)] ?? 0
        yield* Effect.logError(
          `process ${place.name} ended (${describe(how)}) and is replaced ${seconds === 0 ? "now" : `in ${seconds} s`}`
        )
        yield* Effect.sleep(Duration.seconds(seconds))
        if (place.child === child) place.child = yield* startIn(place)
        return recent + 1
      })
  }).pipe(Effect.zipRight(Effect.never))

/** Replaces one process after the other. Each serves until its successor does. */
const replaceAll = (places: ReadonlyArray<Place>, startIn: (place: Place) => Effect.Effect<Child>) =>
  Effect.gen(function*() {
    yield* Effect.log("SIGHUP: every process is replaced, one after the other")
    for (const place of places) {
      const successor = yield* startIn(place)
      yield* Deferred.await(successor.ready)
      const previous = place.child
      place.child = successor
      previous.channel.tell(Message.Retire.make({}))
      yield* Effect.timeoutOption(Deferred.await(previous.ended), retirement)
      previous.worker.process.kill("SIGKILL")
    }
    yield* Effect.log("every process was replaced")
  }).pipe(
    Effect.catchAll(() =>
      Effect.logError("a new process did not start (see the lines above), so the present processes continue")
    )
  )

const placesOf = ({ processes, roles }: Configuration) => [
  ...Array.from({ length: processes }, (_, index) => ({ name: String(index + 1), roles: "api" })),
  ...(roles.has("worker") ? [{ name: "delivery", roles: "worker" }] : [])
]

/** Runs a node of several processes until it is interrupted. Fails if one of them cannot start. */
export const run = (configuration: Configuration): Effect.Effect<never, NotStarted> =>
  Effect.gen(function*() {
    const hangUps = yield* HangUp.listen
    yield* logDoubts(configuration)
    const failures = yield* FailureLimit.FailureLimit
    const registry = watch()
    registry.setDefaultLabels(Option.match(configuration.installation, {
      onNone: () => ({}),
      onSome: (installation) => ({ installation })
    }))
    const all = new Set<Child>()
    const places: Array<Place> = []

    /** Omits a process that is too busy to answer. */
    const metrics = Effect.gen(function*() {
      const pages = yield* Effect.forEach(places, ({ child, name }) =>
        child.channel.ask(Message.Metrics.make({}), metricsPatience).pipe(
          Effect.flatMap(decodePage),
          Effect.map(({ body }) => ({ body, process: name })),
          Effect.option
        ), { concurrency: "unbounded" })
      const own = {
        body: yield* Effect.promise(() =>
          registry.metrics()
        ),
        process: "first"
      }
      return { contentType: registry.contentType, body: merge([...pages.flatMap(Option.toArray), own]) }
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
    const startIn = (place: Pick<Place, "name" | "roles">) => start(all, answer, place)

    const serve = Effect.gen(function*() {
      // Wait for the first one, which migrates the tables. If it cannot start, no other can.
      for (const place of placesOf(configuration)) {
        const child = yield* startIn(place)
        places.push({ ...place, child })
        if (places.length === 1) yield* Deferred.await(child.ready)
      }
      const [line] = yield* Effect.forEach(places, ({ child }) => Deferred.await(child.ready))
      yield* Effect.log(`${line}; processes: ${places.map(({ name }) => name).join(", ")}`)
      const keeping = Effect.forEach(places, (place) => keep(place, startIn), { concurrency: "unbounded" })
      const replacing = Effect.forever(Effect.zipRight(hangUps, replaceAll(places, startIn)))
      return yield* Effect.zipRight(Effect.all([keeping, replacing], { concurrency: "unbounded" }), Effect.never)
    })
    return yield* Effect.ensuring(
      serve,
      Effect.suspend(() => Effect.forEach(all, stop, { concurrency: "unbounded", discard: true }))
    )
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(FailureLimit.layerMemory, Log.layer(configuration))))
