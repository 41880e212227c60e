/** Prepares the service for a test through its operator API. */
import type { Service } from "./ServiceProcess.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // The tests check its fields.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export type Target = Pick<Service, "url" | "operatorToken">

/** Sends a request to the operator API. */
export const operate = async (
  service: Target,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<Answer> => {
  const response = await fetch(`${service.url}/operator/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${service.operatorToken}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) }
}

const expecting = async (status: number, answer: Promise<Answer>) => {
  const got = await answer
  if (got.status !== status) throw new Error(`${got.status} instead of ${status}: ${JSON.stringify(got.body)}`)
  return got.body
}

export interface Person {
  readonly id: number
  readonly email: string
  readonly password: string
  readonly first_name: string
  readonly last_name: string
}

let people = 0

/** Creates a user with this role. */
export const createUser = async (service: Target, role: string): Promise<Person> => {
  const email = `${role}-${++people}-${process.pid}@example.test`
  const password = `correct horse ${people}`
  const record = await expecting(
    201,
    operate(service, "POST", "/users", { role, email, password, first_name: "Ada", last_name: "Lovelace" })
  )
  return { ...record, password }
}

export interface Client {
  readonly client_id: number
  readonly client_secret: string
}

/** Creates an application of this platform user. */
export const createApplication = (
  service: Target,
  owner: Person,
  redirectUris: ReadonlyArray<string> = [],
  settings: Readonly<Record<string, unknown>> = {}
): Promise<Client> =>
  expecting(
    201,
    operate(service, "POST", "/applications", {
      name: "Race Day",
      owner_id: owner.id,
      redirect_uris: redirectUris,
      ...settings
    })
  )

/** Creates a registration and returns its identifier. */
export const createRegistration = async (
  service: Target,
  parties: Readonly<Record<string, unknown>>
): Promise<number> => (await expecting(201, operate(service, "POST", "/registrations", parties))).id

/** Changes a registration and returns the status of the response. */
export const changeRegistration = async (
  service: Target,
  id: number,
  updates: Readonly<Record<string, unknown>>
): Promise<number> => (await operate(service, "PATCH", `/registrations/${id}`, updates)).status
