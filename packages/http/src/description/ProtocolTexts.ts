/** Texts for the operations and fields of the documented API, with examples. */

/** Text and example of a field by its name, or by schema and name for exceptions. */
export type FieldTexts = Readonly<Record<string, readonly [description: string, example: unknown]>>

/** Text of an operation by its identifier. Without examples here, those of the fields are used. */
export type OperationTexts = Readonly<
  Record<string, {
    readonly summary: string
    readonly description: string
    readonly request?: unknown
    readonly response?: unknown
  }>
>

const at = "2026-06-01T08:00:00.000Z"

/** Texts of the fields by name. */
export const fields: FieldTexts = {
  access_token: ["Opens the API for the user. Send it as `Authorization: Bearer …`", "sl_at_7_42_zWk3vP…"],
  active: ["Whether the token is valid now", true],
  aspect_type: ["`updated` for a registration, `deleted` for revoked access", "updated"],
  callback_url: ["URL to which events are posted; at most 255 characters", "https://race-day.example/events"],
  client_id: ["Identifies the application", 7],
  "Introspection.client_id": ["The application to which the token was issued", "7"],
  client_secret: ["Authenticates the application. Keep it on your server", "sl_cs_2GkQ…"],
  code: ["The authorization code of the redirect; it works once, for five minutes", "sl_ac_7_42_9Jx1…"],
  "Problem.code": ["The kind of error, for programs: stable", "too_long"],
  code_challenge: ["BASE64URL(SHA-256(code_verifier)) (RFC 7636)", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
  code_challenge_method: ["Method that created the challenge", "S256"],
  code_verifier: ["The value whose hash was the code challenge", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"],
  comment: ["Free text", "The certificate was accepted"],
  created_at: ["Time of creation: ISO 8601 in UTC with milliseconds", at],
  "Tokens.created_at": ["Time at which the access token was issued, in whole seconds since 1970", 1_780_300_800],
  cursor: [
    "Position in the log, readable only for the service. Send it as `after` to continue from here",
    "q3VDxTn0dZ8yK2mJwL5rPgBv1aHcUeFs9"
  ],
  after: ["Start after this entry", "q3VDxTn0dZ8yK2mJwL5rPgBv1aHcUeFs9"],
  document_status: ["A label of the platform", "accepted"],
  document_type: ["A label of the platform", "medical certificate"],
  error: ["Error code of RFC 6749 or RFC 6750", "invalid_request"],
  error_description: ["Description of the error for people", "code is missing"],
  errors: ["All errors of the request", undefined],
  event: ["The body of the POST request to the callback", undefined],
  event_time: ["Time at which the change was committed, in whole seconds since 1970", 1_780_300_800],
  events: ["At most `limit` events (default: 100, up to 1000), oldest first", undefined],
  exp: ["Time at which the token expires, in whole seconds since 1970", 1_780_329_600],
  expires_in: ["Seconds from `created_at` until the access token expires", 28_800],
  field: ["The field that is wrong", "callback_url"],
  first_name: ["Given name", "Ada"],
  grant_type: ["The kind of grant to exchange", "authorization_code"],
  "hub.challenge": ["A random text that your response must contain", "sl_ch_5mZ0…"],
  "hub.mode": ["Always `subscribe`", "subscribe"],
  "hub.verify_token": [
    "The verify token of the subscription. Check that it is yours",
    "something only you know"
  ],
  iat: ["Time at which the token was issued, in whole seconds since 1970", 1_780_300_800],
  id: ["Identifies the record", 42],
  "idempotency-key": [
    "1 to 255 printable characters, new for each request. For 10 minutes, a repeated request with the same key gets the same response",
    "0b9f1c1e-6d0e-4a53-9a37-2b6a2ce1d9a4"
  ],
  last_name: ["Family name", "Lovelace"],
  limit: ["Maximum number of entries", "100"],
  locale: ["Language of the consent page, also with a region", "en"],
  login_hint: ["Fills in the e-mail address of the sign-in page", "ada@example.org"],
  message: ["Description of the error for people", "callback_url must not be longer than 255 characters"],
  object_id: ["The registration, or the user for a user event", 42],
  object_type: ["Kind of the object that has changed", "registration"],
  platform_id: ["Identifier of the registration on the platform", "MARATHON-2027-0042"],
  prompt: ["`login` asks the user for the password again", "login"],
  reasons: ["Reasons why a document was refused", ["The date is missing"]],
  redirect_uri: [
    "One of the registered redirect URIs, character by character, or an address on localhost",
    "https://race-day.example/callback"
  ],
  refresh_token: ["Exchange it once for the next pair of tokens", "sl_rt_7_42_1_3_Qx0…"],
  registration_status: ["A label of the platform", "validated"],
  resource: ["The record that has the field", "WebhookSubscription"],
  response_mode: ["How the response is returned", "query"],
  response_type: ["The requested response", "code"],
  role: ["The role of the user", "athlete"],
  scope: ["Scopes, separated by spaces", "profile:read read"],
  state: ["Your text, which is returned unchanged", "af0ifjsldkj"],
  "EventPage.next": ["Send it as `after` to continue, now or later", "q3VDxTn0dZ8yK2mJwL5rPgBv1aHcUeFs9"],
  sequence: ["Place of the event among those about its object: grows with each, with gaps", 7],
  "LogEntry.state": ["State of the event: that of its delivery, or of a later one", "delivered"],
  "startlist-sequence": [
    "Place of the event among those about its object: grows with each, with gaps. It is the same in every attempt. An event with a smaller one than you have handled of this object is late",
    "7"
  ],
  status: ["`ok`", "ok"],
  sub: ["The user", "42"],
  subscription_id: ["The subscription that gets the event", 3],
  token: ["An access or refresh token of the application", "sl_rt_7_42_1_3_Qx0…"],
  token_type: ["Always `Bearer`", "Bearer"],
  updated_at: ["Time of the last change: ISO 8601 in UTC with milliseconds", at],
  updates: ["All six fields of the registration. For a user event, an empty object", undefined],
  verify_token: ["Your text, which the validation request contains", "something only you know"],
  "webhook-id": ["Identifies the event: the same in every attempt", "evt_2n5xVb"],
  "webhook-signature": [
    "`v1,` and BASE64(HMAC-SHA-256(key, id.timestamp.body)), one for each signing secret, separated by spaces. The key is the base64 text after `whsec_`",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
  ],
  "webhook-timestamp": ["When this attempt started, in whole seconds since 1970", "1780300800"],
  webhook_id: ["Identifies the event: the same in every attempt", "evt_2n5xVb"],
  webhook_subscription: ["The requested subscription", undefined]
}

const credentials = { client_id: 7, client_secret: "sl_cs_2GkQ…" }

/** Texts of the operations by identifier. */
export const operations: OperationTexts = {
  "oauth.authorize": {
    summary: "Ask a user for access",
    description:
      "Redirect the user's browser here. The user signs in and allows or refuses the access. The browser then comes back to redirect_uri, with code and state, or with error."
  },
  "oauth.token": {
    summary: "Get tokens",
    description:
      "Exchanges a code or a refresh token. Send parameters in the query or in a form, and client credentials there or with HTTP Basic. A parameter in both places must have the same value.",
    request: { ...credentials, grant_type: "refresh_token", refresh_token: "sl_rt_7_42_1_3_Qx0…" }
  },
  "oauth.revoke": {
    summary: "Revoke access",
    description:
      "Revokes all tokens of the application for the user of this token. The body is always {}: check the status. Access is revoked only if the status is 200.",
    request: { ...credentials, token: "sl_rt_7_42_1_3_Qx0…" },
    response: {}
  },
  "oauth.introspect": {
    summary: "Introspect a token",
    description: "Describes a token (RFC 7662). An application can introspect its own tokens, the operator any token.",
    request: { ...credentials, token: "sl_at_7_42_zWk3vP…" }
  },
  "oauth.metadata": {
    summary: "Find the endpoints",
    description: "Authorization server metadata (RFC 8414), for client libraries.",
    response: { issuer: "https://startlist.example", token_endpoint: "https://startlist.example/oauth/token" }
  },
  "oauth.resource": {
    summary: "Find the authorization server of the API",
    description:
      "Protected resource metadata (RFC 9728). Each path of the API has its own, such as `/.well-known/oauth-protected-resource/api/v1/athlete`. The challenge of a 401 or 403 names it.",
    response: {
      resource: "https://startlist.example",
      authorization_servers: ["https://startlist.example"],
      scopes_supported: ["profile:read", "read"],
      bearer_methods_supported: ["header"]
    }
  },
  "resources.athlete": {
    summary: "Show the athlete of this token",
    description: "Needs an access token of an athlete with the scope profile:read, read or read+write."
  },
  "resources.subscribe": {
    summary: "Subscribe to events",
    description:
      "Needs an access token of a platform user. While this waits, the service sends a validation request to the callback, which must answer the challenge within two seconds."
  },
  "resources.subscription": {
    summary: "Show the subscription",
    description: "Needs an access token of a platform user."
  },
  "resources.unsubscribe": {
    summary: "End the subscription",
    description:
      "Needs an access token of a platform user. Cancels pending deliveries. With `id`, ends only that subscription."
  },
  "resources.events": {
    summary: "Fetch events",
    description:
      "The event log has each event once, oldest first, and events about one object in order. Continue from `next`, and you miss no event. A page with fewer events than `limit` is the last one for now. Needs an access token of a platform user. Events are stored for 30 days after their delivery has ended."
  },
  "service.healthz": { summary: "Check health", description: "200 while the process answers." },
  "service.readyz": {
    summary: "Check readiness",
    description: "For load balancers: 503 while the database does not take writes, or the node is stopping."
  },
  "service.metrics": {
    summary: "Get metrics",
    description: "The metrics of this node, in the text format of Prometheus.",
    response: "startlist_database_up 1\n"
  },
  "service.asyncapi": {
    summary: "Get the description of events",
    description: "Describes the events that are posted to callbacks, as AsyncAPI 3.0.",
    response: { asyncapi: "3.0.0", info: { title: "Startlist events", version: "1" } }
  },
  "service.openapi": {
    summary: "Get this document",
    description: "Describes the API as OpenAPI 3.1.",
    response: { openapi: "3.1.0", info: { title: "Startlist", version: "1" } }
  }
}
