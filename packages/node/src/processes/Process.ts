/** The role of a process in its node: the only one, or one of several that the first process has started. */
import cluster from "node:cluster"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as FailureLimit from "@startlist/http/FailureLimit"
import type { Configuration } from "../Configuration.ts"
import * as Channel from "./Channel.ts"
import * as Message from "./Message.ts"
import { merge } from "./MetricsPage.ts"

/** Name of the process that purges. */
const firstPlace = "1"

/** Variable with the name of a process. */
export const nameVariable = "STARTLIST_PROCESS"

export declare namespace Process {
  export interface Service {
    /** Whether it logs for the whole node: the start line and warnings about settings. */
    readonly isOnly: boolean
    /** Whether it listens for requests. */
    readonly listens: boolean
    /** Whether it removes data that is past its retention. */
    readonly purges: boolean
    readonly failureLimit: Layer.Layer<FailureLimit.FailureLimit>
    /** The metrics of the node, given those of this process. */
    readonly metrics: (own: Effect.Effect<Message.Page>) => Effect.Effect<Message.Page>
    /** Announces that it serves. */
    readonly announce: (line: string) => Effect.Effect<void>
    /** Waits until another process replaces this one, runs `takeLeave`, and stops the process. */
    readonly retire: (takeLeave: Effect.Effect<void>) => Effect.Effect<void>
  }
}

/** This process. Default: the only one of its node. */
export class Process extends Context.Reference<Process>()("@startlist/node/Process", {
  defaultValue: (): Process.Service => ({
    isOnly: true,
    listens: true,
    purges: true,
    failureLimit: FailureLimit.layerMemory,
    metrics: (own) => own,
    announce: (line) => Effect.log(line),
    retire: () => Effect.void
  })
}) {}

/** Timeouts in milliseconds for the first process: to count an attempt, and to collect all metrics. */
const countPatience = 1000
const metricsPatience = 6000

const encodeTake = Schema.encodeSync(Message.Take)
const encodeGiveBack = Schema.encodeSync(Message.GiveBack)
const decodeWait = Schema.decodeUnknown(Message.Wait)
const decodePage = Schema.decodeUnknown(Message.Page)

/** Counts in the first process, or in this one if the first does not answer. */
const sharedLimit = ({ ask }: Channel.Channel): Layer.Layer<FailureLimit.FailureLimit> =>
  Layer.map(FailureLimit.layerMemory, (context) => {
    const own = Context.get(context, FailureLimit.FailureLimit)
    return Context.make(FailureLimit.FailureLimit, {
      take: (keys: ReadonlyArray<FailureLimit.Key>) =>
        ask(encodeTake(Message.Take.make({ keys })), countPatience).pipe(
          Effect.flatMap(decodeWait),
          Effect.map(Option.fromNullable),
          Effect.catchAll(() => own.take(keys))
        ),
      giveBack: (keys: ReadonlyArray<FailureLimit.Key>) =>
        Effect.catchAll(
          Effect.asVoid(ask(encodeGiveBack(Message.GiveBack.make({ keys })), countPatience)),
          () => own.giveBack(keys)
        )
    })
  })

/** A signal to the process group reaches this process twice. The second must not end it before it has drained. */
const bearSecondSignals = Effect.sync(() => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {})
})

const makeStarted = (name: string, { roles }: Configuration): Effect.Effect<Process.Service> =>
  Effect.gen(function*() {
    yield* bearSecondSignals
    const retired = yield* Deferred.make<void>()
    let own: Effect.Effect<Message.Page, Channel.NoAnswer> = new Channel.NoAnswer()
    const channel = Channel.open(
      {
        send: (message, onSent) => process.send?.(message, undefined, undefined, onSent),
        on: (onMessage) => process.on("message", onMessage)
      },
      () => own,
      (message) => {
        if (Schema.is(Message.Retire)(message)) Deferred.unsafeDone(retired, Effect.void)
      }
    )
    return {
      isOnly: false,
      listens: roles.has("api"),
      purges: name === firstPlace,
      failureLimit: sharedLimit(channel),
      metrics: (page) => {
        own = page
        return channel.ask(Message.Metrics.make({}), metricsPatience).pipe(
          Effect.flatMap(decodePage),
          Effect.catchAll(() => Effect.map(page, (given) => ({ ...given, body: merge([{ ...given, process: name }]) })))
        )
      },
      announce: (line) => Effect.sync(() => channel.tell(Message.Ready.make({ line }))),
      retire: (takeLeave) =>
        Deferred.await(retired).pipe(
          Effect.zipRight(takeLeave),
          Effect.zipRight(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
        )
    }
  })

/** Name of this process. None if it is the only one or the first one. */
export const name: Option.Option<string> = cluster.isWorker
  ? Option.fromNullable(process.env[nameVariable])
  : Option.none()

/** Runs a node as one of several processes. Its log lines contain its name. */
export const runStarted = <A, E, R>(
  name: string,
  configuration: Configuration,
  node: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    makeStarted(name, configuration),
    (started) => node.pipe(Effect.provideService(Process, started), Effect.annotateLogs({ process: name }))
  )
