/** Independent client libraries with a service process, in both profiles. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Browser } from "@startlist/test-support/Browser"
import { redirectUri } from "@startlist/test-support/Consent"
import { createUser, type Person } from "@startlist/test-support/Operator"
import { spawnStartlist } from "@startlist/test-support/ServiceProcess"
import * as Arctic from "./clients/Arctic.ts"
import * as BadgatewayOauth2Client from "./clients/BadgatewayOauth2Client.ts"
import type { Client } from "./clients/Client.ts"
import * as Oauth4webapi from "./clients/Oauth4webapi.ts"
import * as OpenidClient from "./clients/OpenidClient.ts"
import * as PassportOauth2 from "./clients/PassportOauth2.ts"
import * as SimpleOauth2 from "./clients/SimpleOauth2.ts"
import { rawClients } from "./raw/RawClients.ts"
import { observe } from "./raw/RawExchange.ts"
import { expectDocument, table } from "./support/GeneratedDocument.ts"
import * as Sites from "./support/Sites.ts"
import { atService, type Outcome, type Outcomes, type SignedIn, steps, walk } from "./support/Walk.ts"

const clients: ReadonlyArray<Client> = [
  OpenidClient.post,
  OpenidClient.basic,
  Oauth4webapi.post,
  Oauth4webapi.basic,
  SimpleOauth2.post,
  SimpleOauth2.basic,
  PassportOauth2.post,
  BadgatewayOauth2Client.post,
  BadgatewayOauth2Client.basic,
  Arctic.basic
]

const nameOf = ({ library, transport }: Client): string => `${library}, secret in the ${transport}`

/** The installed version of a library. */
const versionOf = (library: string): string => {
  const folders = createRequire(import.meta.url).resolve.paths(library) ?? []
  const file = folders.map((folder) => `${folder}/${library}/package.json`).find((file) => existsSync(file))
  return JSON.parse(readFileSync(file ?? "", "utf8")).version
}

interface People {
  readonly owner: Person
  readonly signedIn: SignedIn
}

/** One platform user who owns the applications and one athlete in one browser, for each service. */
const people = new Map<Sites.Service, Promise<People>>()

const peopleAt = (service: Sites.Service): Promise<People> => {
  const known = people.get(service)
  if (known !== undefined) return known
  const made = Promise.all([createUser(service, "platform"), createUser(service, "athlete")]).then(
    ([owner, user]) => ({ owner, signedIn: { user, browser: new Browser() } })
  )
  people.set(service, made)
  return made
}

/** The observations: each client runs once in each profile. */
const walked = new Map<string, Promise<Outcomes>>()

const outcomesOf = (client: Client, profile: Sites.Profile, service: Sites.Service): Promise<Outcomes> => {
  const key = `${nameOf(client)} (${profile})`
  const known = walked.get(key)
  if (known !== undefined) return known
  const made = peopleAt(service).then(async ({ owner, signedIn }) =>
    walk(await atService(service, owner, signedIn), client)
  )
  walked.set(key, made)
  return made
}

const describe = (outcome: Outcome): string => {
  switch (outcome._tag) {
    case "ok":
      return outcome.detail === "" ? "ok" : `ok: ${outcome.detail}`
    case "refused":
      return `refused: ${outcome.reason}`
    case "not offered":
      return "not offered by the client"
    case "unreached":
      return "not reached"
  }
}

const titles: Readonly<Record<Sites.Profile, string>> = {
  documented: "## Profile `documented` (the default)",
  rfc: "## Profile `rfc`"
}

const write = (rows: Readonly<Record<Sites.Profile, ReadonlyArray<readonly [Client, Outcomes]>>>): string =>
  [
    "# Client libraries",
    `This page is for you if you choose a client library. It lists independent libraries that work with Startlist. A test uses each library as its
documentation says, against the service as a process. \`tools/conformance/test/system/Interoperability.test.ts\` observes every result in the table and fails if one
differs. \`npm run documents -w @startlist/conformance\` writes this page.`,
    `A step is _ok_ if the library reports success **and** its effect is visible from outside: tokens open \`GET /api/v1/athlete\`, revoked
ones do not. _PKCE_ is authorization and exchange with S256. At _replaced refresh token_, the test sends a refresh again with the
replaced token. The cell says what a program can read of the error. _Not offered_ means that the library exports no such function.`,
    ...Sites.profiles.flatMap((profile) => [
      titles[profile],
      table(
        ["client", "version", "secret in the", ...steps],
        rows[profile].map(([client, outcomes]) => [
          client.library,
          versionOf(client.library),
          client.transport,
          ...steps.map((step) => describe(outcomes[step]))
        ])
      )
    ]),
    "## Clients that discover",
    `The client of the MCP SDK (\`@modelcontextprotocol/sdk\` 1.32) knows the URL of a resource, its client id and its secret. It finds all
addresses and the scope itself, and then authorizes, exchanges, calls the resource and refreshes: \`tools/reference/test/Mcp.test.ts\`.
A client that names no scope gets \`invalid_scope\` with the list of scopes, or those of \`DEFAULT_SCOPE\`. Clients cannot register themselves.`,
    "## Clients in other languages",
    `The tests send the requests of these libraries over a socket, byte for byte, to the service with its default profile.
The requests follow the sources of the named version and of its HTTP library: see
\`tools/conformance/test/system/raw/RawClients.ts\`. _Tokens_ open the API. _Revoked_ tokens do not.`,
    table(
      ["client", "version", "language", "what it does", "answer"],
      rawClients.map(({ client, does, expected, language, version }) => [client, version, language, does, expected])
    )
  ].join("\n\n") + "\n"

const environment = (url: string): Readonly<Record<string, string>> => ({ AUTH_URL: url, BASE_URL: url })

layer(Sites.layer(environment))("clients that nobody here wrote", (it) => {
  for (const client of clients) {
    for (const profile of Sites.profiles) {
      it.effect(
        `${nameOf(client)}: everything that it offers works in the profile ${profile}`,
        () =>
          Effect.gen(function*() {
            const sites = yield* Sites.Sites
            const outcomes = yield* Effect.promise(() => outcomesOf(client, profile, sites[profile]))
            const refused = steps.filter((step) => outcomes[step]._tag === "refused")
            expect(refused).toEqual([])
          })
      )
    }
  }

  it.scoped("all of them get through with a fake, with the same results as with the service", () =>
    Effect.gen(function*() {
      const sites = yield* Sites.Sites
      const { child, exit, stdout } = yield* Effect.acquireRelease(
        Effect.sync(() => spawnStartlist(["fake", "--json", "--redirect-uri", redirectUri], {})),
        ({ child, exit }) =>
          Effect.promise(() => {
            child.kill()
            return exit
          })
      )
      yield* Effect.promise(() => Promise.race([once(child.stdout ?? child, "data"), exit]))
      const { application, url } = JSON.parse(stdout())
      const allow = async (authorizationUrl: string) => {
        const body = JSON.stringify({ url: authorizationUrl, user: "alice@athletes.example" })
        const { redirect } = await (await fetch(`${url}/fake/consent`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body
        })).json()
        return new URL(redirect)
      }
      const place = {
        url,
        clientId: String(application.clientId),
        clientSecret: application.clientSecret,
        allow
      }
      yield* Effect.promise(async () => {
        for (const client of clients) {
          const expected = await outcomesOf(client, "documented", sites.documented)
          expect([nameOf(client), await walk(place, client)]).toEqual([nameOf(client), expected])
        }
      })
    }))

  for (const raw of rawClients) {
    it.effect(`${raw.client} (${raw.language}) ${raw.does}: ${raw.expected}`, () =>
      Effect.gen(function*() {
        const { documented } = yield* Sites.Sites
        expect(yield* Effect.promise(() => observe(documented, raw))).toBe(raw.expected)
      }))
  }

  it.effect("docs/evidence/clients.md says what was observed", () =>
    Effect.gen(function*() {
      const sites = yield* Sites.Sites
      const rowsOf = (profile: Sites.Profile) =>
        Effect.forEach(clients, (client) =>
          Effect.map(
            Effect.promise(() => outcomesOf(client, profile, sites[profile])),
            (outcomes) => [client, outcomes] as const
          ))
      const rows = yield* Effect.all({ documented: rowsOf("documented"), rfc: rowsOf("rfc") })
      expectDocument("clients.md", write(rows))
    }))
})
