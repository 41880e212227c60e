/** Texts for the operations and fields of the operator API, with examples. */
import type { FieldTexts, OperationTexts } from "@startlist/http/description/ProtocolTexts"

const at = "2026-06-01T08:00:00.000Z"

export const fields: FieldTexts = {
  application: ["Name of the application", "Race Day"],
  audit: ["Audit entries by or about the user, newest first", undefined],
  action: ["Recorded action", "login"],
  actor: ["Who acted", undefined],
  address: ["Network address of the client", "203.0.113.7"],
  applications: ["One page, newest first", undefined],
  "Redelivery.state": ["State of the later delivery", "delivered"],
  "RedeliveryPart.next": ["Value of `after` for the next part, if there may be one", "11822-1780300800000"],
  "RedeliveryRequest.since": ["Only deliveries that ended at or after this time", at],
  "RedeliveryRequest.until": ["Only deliveries that ended before this time", at],
  "RedeliveryRequest.after": ["`next` of the previous part", "11822-1780300800000"],
  all: ["Whether events are sent, too, whose object has a newer event that is delivered or pending", false],
  at: ["Time: ISO 8601 in UTC with milliseconds", at],
  athlete_id: ["The athlete of the registration", 42],
  attempts: ["Delivery attempts, oldest first", undefined],
  cancelled: ["Number of cancelled deliveries", 12],
  more: ["Whether there may be more pending deliveries", false],
  club_id: ["The club of the registration", 44],
  deliveries: ["One page, newest first", undefined],
  disabled: ["Whether sign-in is refused", false],
  detail: ["Details, such as the response or the error of an attempt: at most 200 characters", "{\"ok\":true}"],
  duration_ms: ["Duration of the attempt in milliseconds", 37],
  email: ["E-mail address: unique, without regard to case", "ada@example.org"],
  ended_at: ["Time at which the delivery ended: ISO 8601 in UTC with milliseconds", at],
  entries: ["One page, newest first", undefined],
  client_secrets: ["Live client secrets, newest first", undefined],
  expires_at: ["If the secret was replaced, its end: ISO 8601 in UTC with milliseconds", at],
  number: ["Number of the secret among those of its kind", 2],
  folder: ["Folder of the copy, on the machine of the service", "/var/lib/startlist/backups/2026-06-01T08-00-00.000Z"],
  granted_at: ["Time at which the user granted access: ISO 8601 in UTC with milliseconds", at],
  grants: ["Access that the user has granted to applications, oldest first", undefined],
  logo: ["https URL of an image, shown on the consent page", "https://race-day.example/logo.png"],
  name: ["Name that users see", "Race Day"],
  next: ["Value of `after` for the next page, if there may be one", 12],
  next_attempt_at: ["While pending, time of the next attempt: ISO 8601 in UTC with milliseconds", at],
  organizer_id: ["The organizer of the registration", 43],
  outcome: ["Result of the action", "success"],
  "Delivery.outcome": ["Result of the attempt", "delivered"],
  overlap_seconds: [
    "Seconds for which the present secret stays valid; 0 ends all others. Default: `SECRET_OVERLAP`",
    3600
  ],
  owner_id: ["The platform user who owns the application", 41],
  password: ["At least 8 characters, and not one of the most common passwords", "correct horse battery"],
  paused: ["Whether the subscription is paused: its events wait", false],
  privacy_policy: ["https URL of the privacy policy, shown on the consent page", "https://race-day.example/privacy"],
  platform_user_id: ["The platform user of the registration", 41],
  redirect_uris: ["URLs to which users may be sent back: https, or http on localhost; at most 20", [
    "https://race-day.example/callback"
  ]],
  redelivered: ["Number of events that are delivered again by this part", 183],
  redelivery: ["The newest later delivery of the same event: of those delivered, if there are any", undefined],
  registrations: ["The registrations of the athlete, oldest first", undefined],
  require_pkce: ["Whether authorization requests without PKCE are refused", true],
  seen_at: ["Approximate time of the last use: ISO 8601 in UTC with milliseconds", at],
  sessions: ["Sessions of the user, newest first", undefined],
  since: ["Only entries at or after this time", at],
  skipped: ["Number of deliveries of this part that are not repeated", 17],
  signing_secret: ["Signs the events of the application (Standard Webhooks)", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
  signing_secrets: ["Secrets that sign events now, newest first", undefined],
  started_at: ["Start: ISO 8601 in UTC with milliseconds", at],
  "Application.state": ["`active`, `suspended` by an operator, or `ended`", "active"],
  "Delivery.state": ["State of the delivery", "delivered"],
  "Delivery.status": ["HTTP status of the callback's response", 200],
  subscriptions: ["One page, newest first", undefined],
  subject: ["The party that the action concerns", undefined],
  type: ["Kind of party", "user"],
  "PasswordReset.expires_at": ["Time until which the link works: ISO 8601 in UTC with milliseconds", at],
  url: ["The link. Give it only to the user", "https://auth.example.org/reset-password?token=sl_pr_42_t2k1s0_Y2xlYXI"],
  until: ["Only entries before this time", at],
  user_id: ["Only entries by or about this user", 42],
  website: ["https URL of the website, shown on the consent page", "https://race-day.example"],
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
      "Lists users, newest first, page by page, or finds the user with an e-mail address, without regard to case."
  },
  "users.disableUser": {
    summary: "Disable a user",
    description: "Refuses further sign-ins of the user and ends every session. Applications keep their access."
  },
  "users.enableUser": { summary: "Enable a user", description: "Lets a disabled user sign in again." },
  "users.endSessions": {
    summary: "End all sessions of a user",
    description: "Signs the user out everywhere. The password is not changed."
  },
  "users.resetPassword": {
    summary: "Create a password reset link",
    description: "Creates a link with which the user can choose another password. It works once, within 24 hours."
  },
  "users.exportUser": {
    summary: "Export the data about a person",
    description: "Shows the user with sessions, grants, registrations, and all audit entries by or about the user."
  },
  "users.eraseUser": {
    summary: "Erase a person",
    description:
      "Erases everything that the person provided. This cannot be undone. The grants are revoked, and the applications are notified."
  },
  "users.getUser": { summary: "Show a user", description: "Shows a user." },
  "users.revokeForUser": {
    summary: "Revoke access on behalf of a user",
    description: "Revokes the access of an application, as the user could, and sends the event."
  },
  "applications.createApplication": {
    summary: "Register an application",
    description:
      "Registers an application. Only this response contains the client secret. The signing secret can be shown again."
  },
  "applications.listApplications": {
    summary: "List applications",
    description: "Lists applications, newest first, page by page."
  },
  "applications.getApplication": { summary: "Show an application", description: "Shows an application." },
  "applications.changeApplication": {
    summary: "Change an application",
    description: "Changes the given fields only. `redirect_uris` replaces all present redirect URIs."
  },
  "applications.rotateSecret": {
    summary: "Replace the client secret",
    description:
      "Makes a new client secret and shows it only in this response. The present one stays valid for the overlap, and older ones until their ends. With an overlap of 0, all others end. At most five are live: the sixth gets 409, which names one to end."
  },
  "applications.listSecrets": {
    summary: "List the live secrets",
    description: "Lists number and end of the live client and signing secrets, newest first, without their values."
  },
  "applications.endSecret": {
    summary: "End a client secret",
    description: "Ends a replaced client secret immediately. The current one has no end: replace it instead."
  },
  "applications.endSigningSecret": {
    summary: "End a signing secret",
    description: "Ends a replaced signing secret immediately. The current one has no end: replace it instead."
  },
  "applications.showSigningSecrets": {
    summary: "Show the signing secrets",
    description: "Shows the secrets that currently sign the application's events."
  },
  "applications.rotateSigningSecret": {
    summary: "Replace the signing secret",
    description:
      "Makes a new signing secret. The present one also signs for the overlap, and older ones until their ends. With an overlap of 0, all others end. At most five are live."
  },
  "applications.suspendApplication": {
    summary: "Suspend an application",
    description: "Refuses all requests of the application until it is restored. Its events wait, and nothing is lost."
  },
  "applications.restoreApplication": {
    summary: "Restore a suspended application",
    description: "Ends the suspension, and delivers the events that waited."
  },
  "applications.revokeAllGrants": {
    summary: "Revoke all grants of an application",
    description: "Revokes all grants of the application immediately. Every user must allow it again. No event is sent."
  },
  "applications.endApplication": {
    summary: "End an application permanently",
    description: "Ends the application with its secrets, grants and subscription. It cannot be restored."
  },
  "subscriptions.listSubscriptions": {
    summary: "List subscriptions",
    description: "Lists the webhook subscriptions of all applications, newest first, page by page."
  },
  "subscriptions.pauseSubscription": {
    summary: "Pause a subscription",
    description: "Starts no further delivery attempts. Events wait, in order, until the subscription is resumed."
  },
  "subscriptions.resumeSubscription": {
    summary: "Resume a subscription",
    description: "Delivers the events that waited, in order, and continues with new ones."
  },
  "subscriptions.endSubscription": {
    summary: "End a subscription",
    description: "Ends the subscription of an application and cancels its pending deliveries."
  },
  "registrations.createRegistration": {
    summary: "Create a registration",
    description: "Creates a registration of an athlete. It causes no event."
  },
  "registrations.getRegistration": { summary: "Show a registration", description: "Shows a registration." },
  "registrations.changeRegistration": {
    summary: "Change a registration",
    description: "Changes the given fields only. The events about the change are saved in the same transaction."
  },
  "deliveries.listDeliveries": {
    summary: "List deliveries",
    description: "Lists deliveries, newest first, page by page. You can filter them by application and state."
  },
  "deliveries.getDelivery": { summary: "Show a delivery", description: "Shows a delivery with its attempts." },
  "deliveries.cancelDeliveries": {
    summary: "Cancel pending deliveries",
    description:
      "Cancels the newest pending deliveries of an application, at most 5000. Repeat the call if there are `more`. The subscription stays."
  },
  "deliveries.redeliverMany": {
    summary: "Deliver many events again",
    description:
      "Delivers a part of the events in a state again, oldest first. Repeat the call with `after` while there is `next`. Skips deliveries that were repeated, repeats that were delivered, and by default those whose object has a newer event that is delivered or pending. So a repeated call sends nothing twice."
  },
  "deliveries.redeliver": {
    summary: "Deliver an event again",
    description: "Makes a new delivery of the same event, with the same webhook-id, to the same subscription."
  },
  "installation.backUp": {
    summary: "Back up the embedded database",
    description:
      "Copies the database and its keys into a new folder in DATA_DIR, while the service runs. Refused with PostgreSQL: use its own tools."
  },
  "audit.listAudit": {
    summary: "List the audit trail",
    description:
      "Lists audit entries, newest first, page by page. You can filter them by action, user, application and time."
  }
}
