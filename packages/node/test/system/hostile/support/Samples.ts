/** Good values: by the names of fields, and by the JSON schemas that the service publishes. */

/** Good values for fields of any route, by name. A field that is not here gets something harmless. */
export const known: Readonly<Record<string, unknown>> = {
  client_id: "{{clientId}}",
  client_secret: "{{clientSecret}}",
  grant_type: "refresh_token",
  code: "{{code}}",
  refresh_token: "{{refresh}}",
  token: "{{access}}",
  redirect_uri: "{{redirectUri}}",
  response_type: "code",
  scope: "profile:read read",
  state: "a state",
  role: "athlete",
  locale: "fr",
  code_challenge: "",
  code_challenge_method: "",
  code_verifier: "",
  email: "{{email}}",
  password: "{{password}}",
  return_to: "/account/applications",
  callback_url: "{{callback}}",
  verify_token: "the verify token",
  owner_id: "{{platformId}}",
  organizer_id: "{{organizerId}}",
  club_id: "{{clubId}}",
  redirect_uris: ["{{redirectUri}}"],
  require_pkce: false,
  athlete_id: "{{userId}}",
  platform_user_id: "{{platformId}}",
  overlap_seconds: 3600,
  limit: "10",
  after: "",
  delivery_id: "{{deliveryId}}",
  version: "x",
  name: "Race Day",
  first_name: "Ada",
  last_name: "Lovelace",
  action: "reveal",
  website: "https://race-day.example/",
  privacy_policy: "https://race-day.example/privacy",
  logo: "",
  failed_since: "1970-01-01 00:00",
  since: "",
  until: "",
  text: "",
  object: "registration:1",
  webhook_id: "",
  user_id: "{{userId}}",
  all: false
}

/** Whether it has fields. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value in a document at this path. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((inner, name) => isRecord(inner) ? inner[name] : undefined, value)

/** A value that fits a JSON schema. */
export const sample = (schema: unknown, name: string, document: unknown): unknown => {
  const reference = at(schema, "$ref")
  if (typeof reference === "string") return sample(at(document, ...reference.split("/").slice(1)), name, document)
  if (known[name] === "") return ""
  const values = at(schema, "enum")
  if (Array.isArray(values)) return values.includes(known[name]) ? known[name] : values[0]
  if (name in known) return known[name]
  const choices = at(schema, "anyOf") ?? at(schema, "oneOf")
  if (Array.isArray(choices)) return isRecord(choices[0]) ? sample(choices[0], name, document) : choices[0]
  switch (at(schema, "type")) {
    case "object": {
      const properties = at(schema, "properties")
      return Object.fromEntries(
        Object.entries(isRecord(properties) ? properties : {}).map((
          [key, inner]
        ) => [key, sample(inner, key, document)])
      )
    }
    case "array":
      return [sample(at(schema, "items"), "", document)]
    case "integer":
    case "number":
      return 1
    case "boolean":
      return true
    default:
      return "text"
  }
}
