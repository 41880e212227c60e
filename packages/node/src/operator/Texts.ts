/** What the operations and fields of the operator API mean, in words, with an example of each. */
import type { FieldTexts, OperationTexts } from "@startlist/http/ProtocolTexts"

const at = "2026-06-01T08:00:00.000Z"

export const fields: FieldTexts = {
  action: ["What was done", "login"],
  actor: ["Who did it", undefined],
  address: ["From where: the address of the client", "203.0.113.7"],
  applications: ["One page, newest first", undefined],
  at: ["When: ISO 8601 in UTC with milliseconds", at],
  athlete_id: ["The athlete of the registration", 42],
  attempts: ["What was tried, oldest first", undefined],
  club_id: ["The club of the registration", 44],
  deliveries: ["One page, newest first", undefined],
  detail: ["What came back, or what went wrong: at most 200 characters", "{\"ok\":true}"],
  duration_ms: ["How long the attempt took, in milliseconds", 37],
  email: ["E-mail address; unique, without regard to case", "ada@example.org"],
  ended_at: ["When it came to its end: ISO 8601 in UTC with milliseconds", at],
  entries: ["One page, newest first", undefined],
  expires_at: ["Until when it signs too, if it was replaced: ISO 8601 in UTC with milliseconds", at],
  name: ["What users see", "Race Day"],
  next: ["The `after` of the next page, if there may be one", 12],
  next_attempt_at: ["When the next attempt is due, while pending: ISO 8601 in UTC with milliseconds", at],
  organizer_id: ["The organizer of the registration", 43],
  outcome: ["What came of it", "success"],
  "Delivery.outcome": ["What came of the attempt", "delivered"],
  overlap_seconds: ["So long the present secret stays good; default: a day", 3600],
  owner_id: ["The platform user who owns the application", 41],
  password: ["At least 8 characters", "correct horse battery"],
  platform_user_id: ["The platform user of the registration", 41],
  redirect_uris: ["Where users may be sent back: https, or http on localhost; at most 20", [
    "https://race-day.example/callback"
  ]],
  require_pkce: ["Whether authorization requests without PKCE are refused", true],
  signing_secret: ["Signs the events of the application (Standard Webhooks)", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
  signing_secrets: ["The secrets that sign now, newest first", undefined],
  "Delivery.state": ["What became of it", "delivered"],
  "Delivery.status": ["The status that the callback answered with", 200],
  subject: ["What it was done to", undefined],
  type: ["What kind of party it is", "user"],
  users: ["None or one", undefined],
  value: ["The secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]
}

export const operations: OperationTexts = {
  "users.createUser": {
    summary: "Create a user",
    description: "Creates a user who signs in with this password."
  },
  "users.findUsers": {
    summary: "Find a user by e-mail address",
    description: "Finds the user with this e-mail address, without regard to case."
  },
  "users.getUser": { summary: "Show a user", description: "Shows a user." },
  "users.revokeForUser": {
    summary: "Take access back for a user",
    description: "Does what the user could do: ends the access of an application, and sends the event."
  },
  "applications.createApplication": {
    summary: "Register an application",
    description:
      "Registers an application. Its client secret is in this answer only; the signing secret can be shown again."
  },
  "applications.listApplications": {
    summary: "List applications",
    description: "Lists applications, newest first, page by page."
  },
  "applications.getApplication": { summary: "Show an application", description: "Shows an application." },
  "applications.changeApplication": {
    summary: "Change an application",
    description: "Changes what is given, and leaves the rest. Redirect URIs take the place of all that there were."
  },
  "applications.rotateSecret": {
    summary: "Replace the client secret",
    description: "Makes a new client secret, and shows it this once. The present one stays good for the overlap."
  },
  "applications.showSigningSecrets": {
    summary: "Show the signing secrets",
    description: "Shows the secrets that sign the application's events now."
  },
  "applications.rotateSigningSecret": {
    summary: "Replace the signing secret",
    description: "Makes a new signing secret. For a day the present one signs too."
  },
  "registrations.createRegistration": {
    summary: "Create a registration",
    description: "Creates a registration of an athlete. It causes no event."
  },
  "registrations.getRegistration": { summary: "Show a registration", description: "Shows a registration." },
  "registrations.changeRegistration": {
    summary: "Change a registration",
    description: "Changes what is given, and leaves the rest. The events about the change are saved with it."
  },
  "deliveries.listDeliveries": {
    summary: "List deliveries",
    description: "Lists deliveries, newest first, page by page: those of an application or in a state, if given."
  },
  "deliveries.getDelivery": { summary: "Show a delivery", description: "Shows a delivery with its attempts." },
  "deliveries.redeliver": {
    summary: "Deliver an event again",
    description: "Makes a new delivery of the same event, with the same webhook-id, to the same subscription."
  },
  "audit.listAudit": {
    summary: "List the audit trail",
    description: "Lists who did what, when and from where, newest first, page by page."
  }
}
