/** Messages between the processes of a node, which may have different versions during a replacement. */
import * as Schema from "effect/Schema"

const Key = Schema.Struct({
  value: Schema.String,
  limit: Schema.Struct({ name: Schema.String, count: Schema.Number, window: Schema.DurationFromMillis })
})

/** Takes attempts that the primary counts. The answer is a `Wait`. */
export const Take = Schema.TaggedStruct("Take", { keys: Schema.Array(Key) })

/** Gives attempts back. */
export const GiveBack = Schema.TaggedStruct("GiveBack", { keys: Schema.Array(Key) })

/** Milliseconds until an attempt is allowed. Null if the attempt was counted. */
export const Wait = Schema.NullOr(Schema.DurationFromMillis)

/** Asks for metrics: the primary has those of all members, a member its own. The answer is a `Page`. */
export const Metrics = Schema.TaggedStruct("Metrics", {})

/** Asks whether a member answers. Any answer will do. */
export const Beat = Schema.TaggedStruct("Beat", {})

/** Metrics as text. */
export const Page = Schema.Struct({ contentType: Schema.String, body: Schema.String })
export type Page = typeof Page.Type

/** A process has started to serve. `line` is its start line. */
export const Ready = Schema.TaggedStruct("Ready", { line: Schema.String })

/** Another process has the place: stop accepting connections, and exit when the present ones have closed. */
export const Retire = Schema.TaggedStruct("Retire", {})

/** What members ask the primary. */
export const Question = Schema.Union(Take, GiveBack, Metrics)
