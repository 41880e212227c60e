/** The settings of the application, from its environment. */

/** Only in the demonstration: the race office, and the accounts. */
export interface Demonstration {
  readonly operatorToken: string
  readonly registrationId: number
  readonly accounts: ReadonlyArray<{
    readonly role: string
    readonly name: string
    readonly email: string
    readonly password: string
  }>
}

export interface Settings {
  readonly port: number
  /** The registration platform. */
  readonly startlistUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** The secret with which the application verifies events. */
  readonly signingSecret: string
  /** The address of this application for browsers, which return to its `/callback`. */
  readonly publicUrl: string
  /** The address of this application for the platform, which sends events to its `/webhook`. */
  readonly callbackUrl: string
  readonly demonstration: Demonstration | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

const required = (environment: Environment, name: string): string => {
  const value = environment[name]
  if (value === undefined || value === "") throw new Error(`${name} is not set. The README says what it is.`)
  return value
}

/** An address to which paths are added, so it has no slash at its end. */
const address = (name: string, value: string): string => {
  if (!URL.canParse(value)) throw new Error(`${name} is no address: https://…`)
  return value.replace(/\/+$/, "")
}

/** Reads the settings; the error names what is missing or wrong. */
export const read = (environment: Environment): Settings => {
  const port = Number(environment["PORT"] ?? "3000")
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error("PORT is not a number from 1 to 65535.")
  const demonstration = environment["DEMONSTRATION"]
  return {
    port,
    startlistUrl: address("STARTLIST_URL", required(environment, "STARTLIST_URL")),
    clientId: required(environment, "CLIENT_ID"),
    clientSecret: required(environment, "CLIENT_SECRET"),
    signingSecret: required(environment, "SIGNING_SECRET"),
    publicUrl: address("PUBLIC_URL", environment["PUBLIC_URL"] ?? `http://localhost:${port}`),
    callbackUrl: environment["CALLBACK_URL"] ?? `http://127.0.0.1:${port}/webhook`,
    demonstration: demonstration === undefined ? undefined : JSON.parse(demonstration)
  }
}
