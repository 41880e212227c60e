/**
 * Batches concurrent calls into one SQL statement per event-loop tick; a lone call runs immediately. Nothing is cached.
 *
 * The input of a batched statement is one JSON array of rows, and that of a single row is one parameter per column. The rest
 * of the statement is the same. A single row takes two thirds of the time, because there is no JSON to parse and no set to
 * join.
 *
 * Not `RequestResolver` of Effect: with it, one process made 2 300 lookups per second instead of 80 000. Arrays of columns
 * (`unnest`) in place of JSON would save at most 1.5 of 60 µs.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import type { StoreError } from "@startlist/core/Store"
import type { Database } from "../Database.ts"
import {
  type Caller,
  isAbandoned,
  isJoined,
  isRefused,
  type Parameter,
  type Statement,
  withCaller
} from "./statement.ts"

/**
 * Maximum number of calls in one statement. With larger batches, this process and a remote database wait for each other: with
 * 64 callers, 32 gave a tenth more refreshes per second than 256.
 */
const maxBatchOf = (isInProcess: boolean): number => isInProcess ? 256 : 32

/** Maximum number of statements in flight to a remote database. The next batch fills while they run. */
const maxInFlightElsewhere = 2

/** The same if each statement concerns one shard of several. */
const maxInFlightOfGroups = 4

interface Call<In, Out> {
  readonly request: In
  readonly caller: Caller
  readonly resume: (effect: Effect.Effect<Out, StoreError>) => void
}

/**
 * Returns a function whose concurrent calls are batched. Inside an open transaction a call is alone, on its connection.
 *
 * - `run` gets the requests of a batch and returns the results in their order. If the database refuses a batch, its calls run
 *   again one by one, so that a bad request harms only itself. If the database is unavailable, all waiting calls fail.
 * - `keyOf`: two requests with one key are never in the same batch.
 * - `groupOf`: a batch has requests of one group. More batches run at the same time, because they concern different shards.
 * - `minShare`: splits the backlog over two statements when each gets at least this many. Otherwise all callers stay in
 *   lockstep, and Node and the database take turns idling.
 * - *Fast path*: if the last batch had one call, the next one runs in the caller's fiber. Not on an embedded database, where a
 *   statement would end before another call could join it.
 */
export const coalesce = <In, Out>(options: {
  readonly isInProcess: Database.Service["isInProcess"]
  readonly run: (batch: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
  readonly keyOf?: (request: In) => string
  readonly groupOf?: ((request: In) => number) | undefined
  readonly minShare?: number
}): Effect.Effect<(request: In) => Effect.Effect<Out, StoreError>> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    const { groupOf, isInProcess, keyOf, run } = options
    const maxBatch = maxBatchOf(isInProcess)
    const { minShare = maxBatch } = options
    const maxInFlight = isInProcess ? 1 : groupOf === undefined ? maxInFlightElsewhere : maxInFlightOfGroups
    const runFork = Runtime.runFork(runtime)
    let waiting: Array<Call<In, Out>> = []
    let inFlight = 0
    let isScheduled = false
    // Until the first batch, there may be other calls in the same tick.
    let wasAlone = false
    /** The lone call whose statement runs now. */
    let alone: Pick<Call<In, Out>, "caller"> | undefined

    const take = (count: number): ReadonlyArray<Call<In, Out>> => {
      const keys = new Set<string>()
      const batch: Array<Call<In, Out>> = []
      const later: Array<Call<In, Out>> = []
      let group: number | undefined
      for (const call of waiting) {
        if (isAbandoned(call.caller)) continue
        const key = keyOf?.(call.request)
        const own = groupOf?.(call.request)
        if (batch.length === 0) group = own
        if (batch.length === count || own !== group || (key !== undefined && keys.has(key))) later.push(call)
        else {
          batch.push(call)
          if (key !== undefined) keys.add(key)
        }
      }
      waiting = later
      return batch
    }

    const schedule = () => {
      if (isScheduled || waiting.length === 0 || inFlight === maxInFlight) return
      isScheduled = true
      setImmediate(flush)
    }

    const room = () => {
      const share = Math.ceil(waiting.length / maxInFlight)
      return inFlight === 0 && share >= minShare ? Math.min(share, maxBatch) : maxBatch
    }

    const flush = () => {
      isScheduled = false
      const batch = take(room())
      if (batch.length === 0) return
      wasAlone = batch.length + waiting.length + inFlight === 1 && !isSomeoneAlone()
      inFlight++
      runFork(runBatch(batch)).addObserver(() => {
        inFlight--
        schedule()
      })
      schedule()
    }

    const runBatch = (batch: ReadonlyArray<Call<In, Out>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(Effect.suspend(() => run(batch.map(({ request }) => request)))), (exit) => {
        if (Exit.isSuccess(exit)) {
          batch.forEach(({ resume }, index) => resume(answer(exit.value[index])))
          return Effect.void
        }
        const isOfBatch = isOurs(exit.cause)
        if (isOfBatch && batch.length > 1) return Effect.forEach(batch, (call) => runBatch([call]), { discard: true })
        const failed = isOfBatch ? batch : [...batch, ...waiting.splice(0)]
        const failure = Effect.failCause(exit.cause)
        failed.forEach(({ resume }) => resume(failure))
        return Effect.void
      })

    const isSomeoneAlone = () => alone !== undefined && !isAbandoned(alone.caller)

    const isFree = () => !isInProcess && wasAlone && inFlight === 0 && waiting.length === 0 && !isSomeoneAlone()

    /** Runs the statement in the caller's fiber: another fiber would double the cost. */
    const runAlone = (request: In, caller: Call<In, Out>["caller"]): Effect.Effect<Out, StoreError> => {
      alone = { caller }
      return Effect.matchCauseEffect(Effect.suspend(() => run([request])), {
        onSuccess: ([out]) => {
          alone = undefined
          return answer(out)
        },
        onFailure: (cause) => {
          alone = undefined
          const failure = Effect.failCause(cause)
          if (!isOurs(cause)) waiting.splice(0).forEach(({ resume }) => resume(failure))
          return failure
        }
      })
    }

    const answer = (out: Out | undefined): Effect.Effect<Out> =>
      out === undefined ? Effect.dieMessage("a batch answered too little") : Effect.succeed(out)

    return (request) =>
      withCaller((caller) => {
        if (isJoined(caller)) return Effect.flatMap(run([request]), ([out]) => answer(out))
        if (isFree()) return runAlone(request, caller)
        return Effect.async((resume) => {
          waiting.push({ request, caller, resume })
          schedule()
        })
      })
  })

/** Whether a statement failed because of its request, and not because of the database. */
const isOurs = (cause: Cause.Cause<StoreError>): boolean =>
  cause._tag === "Fail" ? isRefused(cause.error) : Cause.isDie(cause)

/** A column of the input: its name, its type, and its value of a row (lists and objects for the type `json`). */
export type Column<Row> = readonly [name: string, type: string, of: (row: Row, place: number) => Parameter | object]

/** The position of a row in its batch. */
export const place: Column<unknown> = ["place", "integer", (_, place) => place]

/** A statement in both forms. The function returns the form for the given rows. */
export const statement = (
  name: string,
  text: (isAlone: boolean) => string
): (rows: ReadonlyArray<unknown>) => Statement => {
  const many = { name, text: text(false) }
  const one = { name: `${name}_one`, text: text(true) }
  return ({ length }) => length === 1 ? one : many
}

/** The parameter that follows those of the input, or a later one. */
export const nextParameter = (columns: ReadonlyArray<unknown>, isAlone: boolean, skipped = 0): string =>
  `$${(isAlone ? columns.length : 1) + 1 + skipped}`

/** Short names for columns: in JSON, each row repeats them. */
const keyOf = (index: number): string => `c${index.toString(36)}`

/** The query whose rows are the input. */
export const rowsText = <Row>(columns: ReadonlyArray<Column<Row>>, isAlone: boolean): string => {
  if (isAlone) return `SELECT ${columns.map(([name, type], index) => `$${index + 1}::${type} AS ${name}`).join(", ")}`
  const named = columns.map(([name], index) => `${keyOf(index)} AS ${name}`).join(", ")
  const typed = columns.map(([, type], index) => `${keyOf(index)} ${type}`).join(", ")
  return `SELECT ${named} FROM json_to_recordset($1::json) AS i(${typed})`
}

export const rowsParameters = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>
): ReadonlyArray<Parameter> => {
  const [row] = rows
  if (row !== undefined && rows.length === 1) return columns.map(([, , of]) => toParameter(of(row, 0)))
  return [JSON.stringify(rows.map((row, place) => toRecord(columns, row, place)))]
}

const toRecord = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  row: Row,
  place: number
): Readonly<Record<string, unknown>> => {
  const record: Record<string, unknown> = {}
  columns.forEach(([, , of], index) => record[keyOf(index)] = of(row, place))
  return record
}

const toParameter = (value: Parameter | object): Parameter =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value

/** The condition that a column is one of the keys. */
export const isAmong = (column: string, type: string, isAlone: boolean): string =>
  isAlone
    ? `${column} = $1::${type}`
    : `${column} = ANY (ARRAY(SELECT json_array_elements_text($1::json)::${type}))`

export const keysParameters = (keys: ReadonlyArray<string | number>): ReadonlyArray<Parameter> => {
  const [key] = keys
  return key !== undefined && keys.length === 1 ? [key] : [JSON.stringify(keys)]
}
