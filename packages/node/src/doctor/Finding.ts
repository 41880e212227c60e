/** Findings of the doctor, and those about settings, which a start logs, too. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isWithin, parseBlock } from "@startlist/dispatcher/AddressGuard"
import { type Configuration, hostOf, isLocal, isLoopback, origin, publicUrls } from "../settings/Configuration.ts"

/** A finding of the doctor. */
export interface Finding {
  /** Name of the check. */
  readonly what: string
  /** `warning`: check it. `bad`: the service does not work. */
  readonly level: "good" | "warning" | "bad"
  /** Result of the check. Contains no secret. */
  readonly seen: string
  /** Advice to the operator. Empty if there is nothing to do. */
  readonly advice: string
}

/** A check without a problem. */
export const good = (what: string, seen: string): Finding => ({ what, level: "good", seen, advice: "" })

/** Something that an operator should look at. */
export const warning = (what: string, seen: string, advice: string): Finding => ({
  what,
  level: "warning",
  seen,
  advice
})

/** Something that prevents the service from working. */
export const bad = (what: string, seen: string, advice: string): Finding => ({ what, level: "bad", seen, advice })

const what = "configuration"

const setAuthUrl = "set AUTH_URL to the origin that browsers and applications use, such as https://auth.example.org"

const checkAddress = ({ authUrl, host, port }: Configuration): ReadonlyArray<Finding> => {
  if (Option.isSome(authUrl)) {
    return authUrl.value.startsWith("http:") && !isLoopback(hostOf(authUrl.value))
      ? [
        warning(
          what,
          `AUTH_URL is ${authUrl.value}: passwords and tokens are sent unencrypted, and cookies are not Secure`,
          "put a proxy with TLS in front and set AUTH_URL to its https origin"
        )
      ]
      : []
  }
  if (isLoopback(host)) return []
  const listening = origin(host, port)
  return ["0.0.0.0", "::"].includes(host)
    ? [
      warning(
        what,
        `HOST is ${host} and AUTH_URL is not set: the metadata names ${listening}, which no other machine can open`,
        setAuthUrl
      )
    ]
    : [warning(what, `others can reach ${listening}, and AUTH_URL is not set`, setAuthUrl)]
}

const thisMachine = ["127.0.0.1", "::1"]

/** If the service is public, callbacks on this machine can reach ports that only this machine should reach. */
const checkCallbackAllow = (configuration: Configuration): ReadonlyArray<Finding> => {
  const open = configuration.callbackAllow.find((cidr) =>
    thisMachine.some((address) => isWithin(Option.toArray(parseBlock(cidr)), address))
  )
  const { authUrl } = publicUrls(configuration, origin(configuration.host, configuration.port))
  return open === undefined || isLocal(configuration)
    ? []
    : [
      warning(
        what,
        `CALLBACK_ALLOW contains ${open}: owners of applications at ${authUrl} can send requests to every port of this machine`,
        "remove it from CALLBACK_ALLOW, unless every owner may do so"
      )
    ]
}

const checkPooler = ({ databaseUrl, preparedStatements }: Configuration): ReadonlyArray<Finding> =>
  preparedStatements || Option.isNone(databaseUrl)
    ? []
    : [
      warning(
        what,
        "PREPARED_STATEMENTS is off: nodes do not notify each other of events (LISTEN), and the database does not end statements at the deadline",
        "set it to off only behind a pooler in transaction mode; session mode does not need it"
      )
    ]

/** One warning per questionable setting. */
export const checkSettings = (configuration: Configuration): ReadonlyArray<Finding> => [
  ...checkAddress(configuration),
  ...checkCallbackAllow(configuration),
  ...checkPooler(configuration)
]

/** Logs these warnings. */
export const logDoubts = (configuration: Configuration): Effect.Effect<void> =>
  Effect.forEach(
    checkSettings(configuration),
    ({ advice, level, seen }) => level === "good" ? Effect.void : Effect.logWarning(`${seen}: ${advice}`),
    { discard: true }
  )
