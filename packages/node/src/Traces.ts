/**
 * The traces that go on in deliveries: an event is told later than it came about, and often by another node. Used only
 * while a collector is configured; otherwise nothing of this is on the way of an event.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { Callbacks } from "@startlist/core/Callbacks"
import { DeliveryStore } from "@startlist/core/Delivery"
import type { Outgoing } from "@startlist/core/Event"
import { GrantStore } from "@startlist/core/GrantStore"
import { RegistrationStore } from "@startlist/core/Registration"
import type { StoreError } from "@startlist/core/Store"
import { Database } from "@startlist/postgres/Database"

/** The `traceparent` of a span (W3C Trace Context, version 00). */
export const format = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

/** The span that a `traceparent` names. */
export const parse = (traceparent: string): Option.Option<Tracer.ExternalSpan> => {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? []
  return traceId === undefined || spanId === undefined || flags === undefined || /^0+$/.test(traceId)
    ? Option.none()
    : Option.some(Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }))
}

/** So many claimed events are remembered with their traces: more than are ever in the works. */
const capacity = 20_000

const make = ({ prefix: p, query }: Database.Service) => {
  const keep = {
    name: `${p}trace_keep`,
    text: `INSERT INTO ${p}traces (event_id, traceparent, at)
      SELECT id, $2::text, $3::bigint FROM json_array_elements_text($1::json) AS e(id) ON CONFLICT DO NOTHING`
  }
  const find = {
    name: `${p}trace_find`,
    text: `SELECT event_id, traceparent FROM ${p}traces
      WHERE event_id = ANY (ARRAY(SELECT id FROM json_array_elements_text($1::json) AS e(id)))`
  }
  const claimed = new Map<string, string>()

  /** Before the save, so that whoever claims the event finds it. A trace that cannot be kept harms nobody. */
  const keeping = <A, E>(outgoing: ReadonlyArray<Outgoing>, save: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    outgoing.length === 0 ? save : Effect.gen(function*() {
      const span = yield* Effect.option(Effect.currentSpan)
      if (Option.isSome(span) && span.value.sampled) {
        const ids = JSON.stringify(outgoing.map(({ event }) => event.id))
        const { epochMillis } = yield* DateTime.now
        yield* Effect.ignore(query(keep, [ids, format(span.value), Math.floor(epochMillis)]))
      }
      return yield* save
    })

  const recall = (ids: ReadonlyArray<string>): Effect.Effect<void> =>
    ids.length === 0 ? Effect.void : Effect.matchEffect(
      query<{ readonly event_id: string; readonly traceparent: string }>(find, [JSON.stringify(ids)]),
      {
        onSuccess: (rows) =>
          Effect.sync(() => {
            for (const { event_id, traceparent } of rows) {
              claimed.delete(event_id)
              claimed.set(event_id, traceparent)
            }
            for (const id of claimed.keys()) {
              if (claimed.size <= capacity) break
              claimed.delete(id)
            }
          }),
        onFailure: () => Effect.void
      }
    )

  return {
    keeping,
    recall,
    /** The trace of an event that this node has claimed. */
    of: (eventId: string) => Option.flatMap(Option.fromNullable(claimed.get(eventId)), parse)
  }
}

/** The traces of the events that this node has claimed. */
export class Traces extends Context.Tag("@startlist/node/Traces")<Traces, ReturnType<typeof make>>() {}

/** The same stores; if `isTracing`, what they save remembers its trace, and what they claim finds it. */
export const layerStores = <A, E, R>(
  stores: Layer.Layer<A | Database | DeliveryStore | GrantStore | RegistrationStore, E, R>,
  isTracing: boolean
): Layer.Layer<A | Database | DeliveryStore | GrantStore | RegistrationStore | Traces, E, R> =>
  Layer.map(stores, (context) => {
    const traces = make(Context.get(context, Database))
    if (!isTracing) return Context.add(context, Traces, traces)
    const deliveries = Context.get(context, DeliveryStore)
    const grants = Context.get(context, GrantStore)
    const registrations = Context.get(context, RegistrationStore)
    return context.pipe(
      Context.add(Traces, traces),
      Context.add(DeliveryStore, {
        ...deliveries,
        claim: (request) =>
          Effect.tap(
            deliveries.claim(request),
            (found) => traces.recall(found.map(({ delivery }) => delivery.event.id))
          )
      }),
      Context.add(GrantStore, { ...grants, save: (change) => traces.keeping(change.outgoing, grants.save(change)) }),
      Context.add(RegistrationStore, {
        ...registrations,
        save: (next, outgoing) => traces.keeping(outgoing, registrations.save(next, outgoing))
      })
    )
  })

/** The same callbacks, with a span around each delivery: in the trace of its event. The query of a callback is not told. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R | Traces> =>
  Layer.effect(
    Callbacks,
    Effect.gen(function*() {
      const traces = yield* Traces
      const service = yield* Callbacks
      return Callbacks.of({
        ...service,
        deliver: (post) =>
          Effect.tap(
            service.deliver(post),
            (answer) =>
              Effect.annotateCurrentSpan(
                answer._tag === "Answered"
                  ? { "http.response.status_code": answer.status }
                  : { "error.type": answer._tag }
              )
          ).pipe(
            Effect.withSpan("POST callback", {
              kind: "client",
              captureStackTrace: false,
              ...Option.match(traces.of(post.id), { onNone: () => ({}), onSome: (parent) => ({ parent }) }),
              attributes: {
                "http.request.method": "POST",
                "server.address": new URL(post.callbackUrl).hostname,
                "webhook.id": post.id
              }
            })
          )
      })
    })
  ).pipe(Layer.provide(callbacks))

/** Forgets traces that began before this instant, at most `limit`. Answers how many went. */
export const purge = (before: DateTime.Utc, limit: number): Effect.Effect<number, StoreError, Database> =>
  Effect.flatMap(Database, ({ prefix: p, query }) =>
    Effect.map(
      query({
        name: `${p}trace_purge`,
        text: `DELETE FROM ${p}traces WHERE event_id IN (
            SELECT event_id FROM ${p}traces WHERE at < $1::bigint LIMIT $2::integer
          ) RETURNING event_id`
      }, [Math.floor(before.epochMillis), limit]),
      (rows) => rows.length
    ))
