/** Events of the service (section 6 of its API), as a union by kind. */

/** A stored event. */
export interface StoredEvent {
  /** The `webhook-id`. */
  readonly id: string
  /** JSON text. */
  readonly body: string
  /** The object of the event, such as `registration 7`. */
  readonly object: string
  /** Its place among the events about the object, if the service has sent it. */
  readonly sequence: number | undefined
}
interface Received {
  /** The `webhook-id`: the same in every attempt. */
  readonly id: string
  /**
   * Place among the events about its object: grows with each, with gaps. If you store it with what you change, the
   * database itself can refuse an older state. Undefined if the service did not send it.
   */
  readonly sequence: number | undefined
  /** An event about the same object with a larger sequence was handled before, so this one reports an older state. */
  readonly isLate: boolean
}

interface Common extends Received {
  readonly subscriptionId: number
  /** In whole seconds. */
  readonly time: Date
}

/** The status of a registration has changed. */
export interface RegistrationChanged extends Common {
  readonly type: "registration.changed"
  readonly registrationId: number
  readonly updates: {
    readonly platform_id: string
    readonly registration_status: string
    readonly document_type: string
    readonly document_status: string
    readonly reasons: ReadonlyArray<string>
    readonly comment: string
  }
}

/** A user has revoked the access: pass it to `forget` of the tokens, which removes those of this user. */
export interface AccessRevoked extends Common {
  readonly type: "access.revoked"
  readonly role: "athlete" | "organizer"
  readonly userId: number
}

/** An event of a kind that this version does not support. Accept it. `body` has its content. */
export interface UnknownEvent extends Received {
  readonly type: "unknown"
  readonly body: unknown
}

/** An event, by its `type`. */
export type Event = RegistrationChanged | AccessRevoked | UnknownEvent

const isUpdates = (updates: unknown): updates is RegistrationChanged["updates"] =>
  typeof updates === "object" && updates !== null &&
  ["platform_id", "registration_status", "document_type", "document_status", "comment"].every((name) =>
    typeof Reflect.get(updates, name) === "string"
  ) && Array.isArray(Reflect.get(updates, "reasons"))

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses the body. Never fails: unsupported bodies are `unknown`. */
export const toEvent = ({ body: text, id, sequence }: StoredEvent, isLate: boolean): Event => {
  const body = parse(text)
  const received: Received = { id, sequence, isLate }
  const unknown: UnknownEvent = { ...received, type: "unknown", body }
  if (typeof body !== "object" || body === null) return unknown
  const { aspect_type, event_time, object_id, object_type, subscription_id, updates } = body as Record<string, unknown>
  if (typeof object_id !== "number" || typeof event_time !== "number" || typeof subscription_id !== "number") {
    return unknown
  }
  const common = { ...received, subscriptionId: subscription_id, time: new Date(event_time * 1000) }
  if (object_type === "registration" && aspect_type === "updated" && isUpdates(updates)) {
    return { ...common, type: "registration.changed", registrationId: object_id, updates }
  }
  if ((object_type === "athlete" || object_type === "organizer") && aspect_type === "deleted") {
    return { ...common, type: "access.revoked", role: object_type, userId: object_id }
  }
  return unknown
}

/** An event as it is stored. `sequence`: undefined if the service did not send it. */
export const toStored = (id: string, text: string, sequence: number | undefined): StoredEvent => {
  const { object_id, object_type } = Object(parse(text)) as Record<string, unknown>
  return { id, body: text, object: `${String(object_type)} ${String(object_id)}`, sequence }
}
