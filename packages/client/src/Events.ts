/** Events of the service (section 6 of its API), as a union by kind. */

interface Common {
  /** The `webhook-id`: the same in every attempt. */
  readonly id: string
  readonly subscriptionId: number
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

/** A user has revoked the access: remove the tokens of this user. */
export interface AccessRevoked extends Common {
  readonly type: "access.revoked"
  readonly role: "athlete" | "organizer"
  readonly userId: number
}

/** An event of a kind that this version does not support. Accept it. `body` has its content. */
export interface UnknownEvent {
  readonly type: "unknown"
  readonly id: string
  readonly body: unknown
}

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

/** Parses a body. Never fails: unsupported bodies are `unknown`. */
export const toEvent = (id: string, text: string): Event => {
  const body = parse(text)
  const unknown: UnknownEvent = { type: "unknown", id, body }
  if (typeof body !== "object" || body === null) return unknown
  const { aspect_type, event_time, object_id, object_type, subscription_id, updates } = body as Record<string, unknown>
  if (typeof object_id !== "number" || typeof event_time !== "number" || typeof subscription_id !== "number") {
    return unknown
  }
  const common = { id, subscriptionId: subscription_id, time: new Date(event_time * 1000) }
  if (object_type === "registration" && aspect_type === "updated" && isUpdates(updates)) {
    return { ...common, type: "registration.changed", registrationId: object_id, updates }
  }
  if ((object_type === "athlete" || object_type === "organizer") && aspect_type === "deleted") {
    return { ...common, type: "access.revoked", role: object_type, userId: object_id }
  }
  return unknown
}

/** The ordering key of an event: events about the same object must be handled in order. */
export const objectOf = (text: string): string => {
  const body = parse(text)
  if (typeof body !== "object" || body === null) return ""
  const { object_id, object_type } = body as Record<string, unknown>
  return `${String(object_type)} ${String(object_id)}`
}
