/** What the operations and fields of the operator API mean, in words, with an example of each. */
import type { FieldTexts, OperationTexts } from "@startlist/http/ProtocolTexts"

const at = "2026-06-01T08:00:00.000Z"

export const fields: FieldTexts = {
  application: ["What users see of it", "Race Day"],
  audit: ["What the user did, and what was done to the user, newest first", undefined],
  action: ["What was done", "login"],
  actor: ["Who did it", undefined],
  address: ["From where: the address of the client", "203.0.113.7"],
  applications: ["One page, newest first", undefined],
  at: ["When: ISO 8601 in UTC with milliseconds", at],
  athlete_id: ["The athlete of the registration", 42],
  attempts: ["What was tried, oldest first", undefined],
  cancelled: ["How many deliveries were cancelled", 12],
  club_id: ["The club of the registration", 44],
  deliveries: ["One page, newest first", undefined],
  disabled: ["Whether the user cannot sign in", false],
  detail: ["What came back, or what went wrong: at most 200 characters", "{\"ok\":true}"],
  duration_ms: ["How long the attempt took, in milliseconds", 37],
  email: ["E-mail address; unique, without regard to case", "ada@example.org"],
  ended_at: ["When it came to its end: ISO 8601 in UTC with milliseconds", at],
  entries: ["One page, newest first", undefined],
  expires_at: ["Until when it signs too, if it was replaced: ISO 8601 in UTC with milliseconds", at],
  folder: ["Where the copy is, on the machine of the service", "/var/lib/startlist/backups/2026-06-01T08-00-00.000Z"],
  granted_at: ["When the user allowed it: ISO 8601 in UTC with milliseconds", at],
  grants: ["What applications may do for the user, oldest first", undefined],
  logo: ["Image that users see before they allow the application: https", "https://race-day.example/logo.png"],
  name: ["What users see", "Race Day"],
  next: ["The `after` of the next page, if there may be one", 12],
  next_attempt_at: ["When the next attempt is due, while pending: ISO 8601 in UTC with milliseconds", at],
  organizer_id: ["The organizer of the registration", 43],
  outcome: ["What came of it", "success"],
  "Delivery.outcome": ["What came of the attempt", "delivered"],
  overlap_seconds: ["So long the present secret stays good; default: a day", 3600],
  owner_id: ["The platform user who owns the application", 41],
  password: ["At least 8 characters", "correct horse battery"],
  paused: ["Whether its events wait until it is resumed", false],
  privacy_policy: ["What the consent page links to: https", "https://race-day.example/privacy"],
  platform_user_id: ["The platform user of the registration", 41],
  redirect_uris: ["Where users may be sent back: https, or http on localhost; at most 20", [
    "https://race-day.example/callback"
  ]],
  registrations: ["The registrations of the athlete, oldest first", undefined],
  require_pkce: ["Whether authorization requests without PKCE are refused", true],
  seen_at: ["When it was last used, roughly: ISO 8601 in UTC with milliseconds", at],
  sessions: ["Where the user is signed in, newest first", undefined],
  since: ["Only what was done from this instant on", at],
  signing_secret: ["Signs the events of the application (Standard Webhooks)", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
  signing_secrets: ["The secrets that sign now, newest first", undefined],
  started_at: ["When it began: ISO 8601 in UTC with milliseconds", at],
  "Application.state": ["`active`, `suspended` by an operator, or `ended`", "active"],
  "Delivery.state": ["What became of it", "delivered"],
  "Delivery.status": ["The status that the callback answered with", 200],
  subscriptions: ["One page, newest first", undefined],
  subject: ["What it was done to", undefined],
  type: ["What kind of party it is", "user"],
  "PasswordReset.expires_at": ["Until when the link works: ISO 8601 in UTC with milliseconds", at],
  url: ["The link, for the user alone", "https://auth.example.org/reset-password?token=sl_pr_42_t2k1s0_Y2xlYXI"],
  until: ["Only what was done before this instant", at],
  user_id: ["Only what this user did, and what was done to the user", 42],
  website: ["What the consent page links to: https", "https://race-day.example"],
  user: ["The user", undefined],
  users: ["One page, newest first", undefined],
  value: ["The secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]
}

export const operations: OperationTexts = {
  "users.createUser": {
    summary: "Create a user",
    description: "Creates a user who signs in with this password."
  },
  "users.findUsers": {
    summary: "List users",
    description:
      "Lists users, newest first, page by page; or finds the one with an e-mail address, without regard to case."
  },
  "users.disableUser": {
    summary: "Disable a user",
    description: "The user cannot sign in any more, and every session ends. Applications keep their access."
  },
  "users.enableUser": { summary: "Enable a user", description: "The user can sign in again." },
  "users.endSessions": {
    summary: "End all sessions of a user",
    description: "Signs the user out everywhere. The password stays as it is."
  },
  "users.resetPassword": {
    summary: "Make a link to a new password",
    description: "Makes a link with which the user can choose another password. It works once, for 24 hours."
  },
  "users.exportUser": {
    summary: "Export what is known about a person",
    description: "Shows the user with sessions, grants, registrations and all of the audit trail about the user."
  },
  "users.eraseUser": {
    summary: "Erase a person",
    description:
      "Removes everything that the person provided. This cannot be undone. Access of applications is revoked, and they get the event."
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
  "applications.suspendApplication": {
    summary: "Suspend an application",
    description:
      "From now on, the application gets no token, no answer and no event. Its events wait. Nothing that it has is lost."
  },
  "applications.restoreApplication": {
    summary: "Restore a suspended application",
    description: "The application goes on where it was suspended. Its events are delivered."
  },
  "applications.revokeAllGrants": {
    summary: "Revoke all grants of an application",
    description:
      "Ends every token of the application immediately, for all users. They have to allow it again. No event is sent."
  },
  "applications.endApplication": {
    summary: "End an application for good",
    description: "Ends the application with its secrets, its grants and its subscription. It cannot be restored."
  },
  "subscriptions.listSubscriptions": {
    summary: "List subscriptions",
    description: "Lists the webhook subscriptions of all applications, newest first, page by page."
  },
  "subscriptions.pauseSubscription": {
    summary: "Pause a subscription",
    description: "No further attempt starts. Events wait, in order, until the subscription is resumed."
  },
  "subscriptions.resumeSubscription": {
    summary: "Resume a subscription",
    description: "Delivers what waited, in order, and goes on."
  },
  "subscriptions.endSubscription": {
    summary: "End a subscription",
    description: "Ends the subscription of an application. Its pending deliveries are cancelled."
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
  "deliveries.cancelDeliveries": {
    summary: "Cancel what is pending",
    description: "Cancels all pending deliveries of an application. The subscription stays."
  },
  "deliveries.redeliver": {
    summary: "Deliver an event again",
    description: "Makes a new delivery of the same event, with the same webhook-id, to the same subscription."
  },
  "installation.backUp": {
    summary: "Back up the embedded database",
    description:
      "Copies the database and its keys into a new folder in DATA_DIR, while the service runs. With PostgreSQL it is refused."
  },
  "audit.listAudit": {
    summary: "List the audit trail",
    description:
      "Lists who did what, when and from where, newest first, page by page: of one action, user, application or time, if given."
  }
}
