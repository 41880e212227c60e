/** Paths of the operator API, known before `Api` is loaded by its first request. A test compares them with `Api`. */

/** The backup. It copies files, so it has no timeout. */
export const backups = "/operator/v1/backups"

/** All paths, in the form of the router. */
export const paths: ReadonlyArray<string> = [
  "/operator/v1/applications",
  "/operator/v1/applications/{client_id}",
  "/operator/v1/applications/{client_id}/restore",
  "/operator/v1/applications/{client_id}/revocations",
  "/operator/v1/applications/{client_id}/secrets",
  "/operator/v1/applications/{client_id}/secrets/{number}",
  "/operator/v1/applications/{client_id}/signing-secrets",
  "/operator/v1/applications/{client_id}/signing-secrets/{number}",
  "/operator/v1/applications/{client_id}/subscription",
  "/operator/v1/applications/{client_id}/subscription/pause",
  "/operator/v1/applications/{client_id}/subscription/resume",
  "/operator/v1/applications/{client_id}/suspend",
  "/operator/v1/audit",
  backups,
  "/operator/v1/deliveries",
  "/operator/v1/deliveries/cancel",
  "/operator/v1/deliveries/redeliver",
  "/operator/v1/deliveries/{id}",
  "/operator/v1/deliveries/{id}/redeliver",
  "/operator/v1/registrations",
  "/operator/v1/registrations/{id}",
  "/operator/v1/subscriptions",
  "/operator/v1/users",
  "/operator/v1/users/{id}",
  "/operator/v1/users/{id}/disable",
  "/operator/v1/users/{id}/enable",
  "/operator/v1/users/{id}/export",
  "/operator/v1/users/{id}/password-resets",
  "/operator/v1/users/{id}/revocations",
  "/operator/v1/users/{id}/sessions"
]
