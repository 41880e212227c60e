/** Shared parts of the programs that deliver. */
import { randomBytes } from "node:crypto"
import * as Child from "../Child.ts"

/** Number of subscriptions of the events. */
export const subscriptions = 100

/** Questions to such a program. */
export type Question = { readonly save: number } | { readonly deliver: number }

export interface Delivered {
  readonly millis: number
}

/** Answers questions: `save` stores events in hundreds without delivery; `deliver` returns when all are recorded. */
export const serve = (
  save: (count: number) => Promise<void>,
  deliver: (count: number) => Promise<Delivered>
): void => {
  Child.answer(async (question: Question) => {
    if ("deliver" in question) return await deliver(question.deliver)
    await save(question.save)
    return {}
  })
  Child.ready({})
}

/** An event for one subscription, as the peers store it. */
export interface Job {
  readonly id: string
  readonly subscriptionId: number
  readonly body: string
}

const updates = {
  platform_id: "",
  registration_status: "validated",
  document_type: "",
  document_status: "",
  reasons: [],
  comment: "The document was accepted."
}

let objects = 0

/** One event per subscription, like those of a status change. */
export const makeJobs = (): ReadonlyArray<Job> => {
  const id = `evt_${randomBytes(32).toString("base64url")}`
  const object_id = ++objects
  const event_time = Math.floor(Date.now() / 1000)
  return Array.from({ length: subscriptions }, (_, index) => {
    const subscription_id = index + 1
    const body = {
      aspect_type: "updated",
      object_type: "registration",
      object_id,
      updates,
      subscription_id,
      event_time
    }
    return { id, subscriptionId: subscription_id, body: JSON.stringify(body) }
  })
}

/** Polls the database until a condition holds. */
export const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}
