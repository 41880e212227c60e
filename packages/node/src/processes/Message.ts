/** What the processes of a node send to each other. Those of an earlier and a later version may be side by side. */
import * as Schema from "effect/Schema"

const Key = Schema.Struct({
  value: Schema.String,
  limit: Schema.Struct({ failures: Schema.Number, window: Schema.DurationFromMillis })
})

/** Takes attempts that the first process counts. The answer is a `Wait`. */
export const Take = Schema.TaggedStruct("Take", { keys: Schema.Array(Key) })

/** Gives attempts back. */
export const GiveBack = Schema.TaggedStruct("GiveBack", { keys: Schema.Array(Key) })

/** Milliseconds until an attempt is left; null if one was taken. */
export const Wait = Schema.NullOr(Schema.DurationFromMillis)

/** Asks for metrics: the first process for those of all, the others for their own. The answer is a `Page`. */
export const Metrics = Schema.TaggedStruct("Metrics", {})

/** Metrics as text. */
export const Page = Schema.Struct({ contentType: Schema.String, body: Schema.String })
export type Page = typeof Page.Type

/** A process serves. `line` says where. */
export const Ready = Schema.TaggedStruct("Ready", { line: Schema.String })

/** Another process has taken the place: accept no more connections, and end when the present ones have. */
export const Retire = Schema.TaggedStruct("Retire", {})

export const Question = Schema.Union(Take, GiveBack, Metrics)
export const Order = Schema.Union(Ready, Retire)
