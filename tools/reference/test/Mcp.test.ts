/** The client of the MCP SDK, which has only the URL of a resource and registered credentials, finds everything else. */
import { expect, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import {
  auth,
  discoverOAuthServerInfo,
  type OAuthClientProvider,
  startAuthorization
} from "@modelcontextprotocol/sdk/client/auth.js"
import { withOAuth } from "@modelcontextprotocol/sdk/client/middleware.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import { once } from "node:events"
import { createServer } from "node:http"
import { Effect } from "effect"
import { consent, redirectUri } from "@startlist/test-support/Consent"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { makeService } from "@startlist/test-support/ServiceProcess"
import * as McpServer from "./support/McpServer.ts"

/** A provider that keeps everything in memory, and the address to which it sends the user. */
const providerOf = (client_id: number, client_secret: string) => {
  let saved: OAuthTokens | undefined
  let verifier = ""
  let location: URL | undefined
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadata: { redirect_uris: [redirectUri] },
    clientInformation: () => ({ client_id: String(client_id), client_secret }),
    tokens: () => saved,
    saveTokens: (tokens) => void (saved = tokens),
    redirectToAuthorization: (url) => void (location = url),
    saveCodeVerifier: (code) => void (verifier = code),
    codeVerifier: () => verifier
  }
  return {
    provider,
    /** Where the user consents. */
    sentTo: () => location ?? expect.fail("the user was not sent to consent"),
    /** The access token is lost, as if it had expired. */
    expire: () => void (saved = saved && { ...saved, access_token: "expired" }),
    tokens: () => saved ?? expect.fail("no tokens")
  }
}

const codeOf = (back: URL): string => back.searchParams.get("code") ?? expect.fail(back.href)

it.scopedLive("the service: authorize, exchange, resource and refresh, from the URL of the athlete", () =>
  Effect.gen(function*() {
    const service = yield* makeService({})
    yield* Effect.promise(async () => {
      const [owner, athlete] = await Promise.all([createUser(service, "platform"), createUser(service, "athlete")])
      const application = await createApplication(service, owner, [redirectUri])
      const { expire, provider, sentTo, tokens } = providerOf(application.client_id, application.client_secret)
      const serverUrl = `${service.url}/api/v1/athlete`
      const ask = withOAuth(provider, serverUrl)(fetch)

      await expect(ask(serverUrl)).rejects.toThrow("user authorization")
      expect(sentTo().searchParams.get("scope")).toBe("profile:read")
      expect(sentTo().searchParams.get("code_challenge_method")).toBe("S256")
      const authorizationCode = codeOf(await consent(sentTo().href, athlete))
      expect(await auth(provider, { serverUrl, authorizationCode })).toBe("AUTHORIZED")
      expect(await (await ask(serverUrl)).json()).toMatchObject({ id: athlete.id })

      const { refresh_token } = tokens()
      expire()
      expect(await (await ask(serverUrl)).json()).toMatchObject({ id: athlete.id })
      expect(tokens().refresh_token).not.toBe(refresh_token)
    })
  }))

it.scopedLive("a client that names no scope reads which ones there are, or gets DEFAULT_SCOPE", () =>
  Effect.gen(function*() {
    const services = yield* Effect.all([makeService({}), makeService({ DEFAULT_SCOPE: "profile:read,read" })])
    yield* Effect.promise(async () => {
      const answers = await Promise.all(services.map(async (service) => {
        const [owner, athlete] = await Promise.all([createUser(service, "platform"), createUser(service, "athlete")])
        const { client_id, client_secret } = await createApplication(service, owner, [redirectUri])
        const { authorizationServerMetadata: metadata } = await discoverOAuthServerInfo(service.url)
        const { authorizationUrl } = await startAuthorization(service.url, {
          ...(metadata === undefined ? {} : { metadata }),
          clientInformation: { client_id: String(client_id), client_secret },
          redirectUrl: redirectUri
        })
        const signedIn = await fetch(authorizationUrl, { redirect: "manual" })
        const location = new URL(signedIn.headers.get("location") ?? "", service.url)
        return location.searchParams.has("error") ? location : consent(authorizationUrl.href, athlete)
      }))
      const [refused, allowed] = answers.map(({ searchParams }) => Object.fromEntries(searchParams))
      expect(refused).toMatchObject({
        error: "invalid_scope",
        error_description: "scope is missing. Send one or more of: profile:read profile:write read write"
      })
      expect(allowed).toMatchObject({ scope: "profile:read read" })
    })
  }))

it("an MCP server behind a guard: the client connects, calls a tool, and refreshes", async () => {
  const user = { id: 7, role: "platform", email: "paul@club.example" } as const
  const server = createServer((request, response) => listener(request, response)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  const { listener, startlist } = await McpServer.make(origin, {
    findUser: (id) => id === user.id ? user : undefined,
    authentication: {
      identify: () => ({ user, csrf: "0123456789abcdef0123456789abcdef" }),
      signInUrl: () => "/sign-in",
      signOutUrl: "/sign-out"
    }
  })
  try {
    const created = await startlist.applications.create(user.id, { name: "Agent", redirectUris: [redirectUri] })
    if (!created.ok) throw new Error(created.message)
    const { expire, provider, sentTo } = providerOf(created.application.id, created.secret)
    const connect = async () => {
      const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider: provider })
      const client = new Client({ name: "agent", version: "1.0.0" })
      return { transport, client, connected: client.connect(transport) }
    }
    const first = await connect()
    await expect(first.connected).rejects.toThrow("Unauthorized")
    expect(sentTo().pathname).toBe("/connect/oauth/authorize")
    expect(sentTo().searchParams.get("scope")).toBe("results:read")
    const back = await startlist.consents.allow(sentTo().search, user)
    if (!("redirect" in back)) throw new Error("the consent failed")
    await first.transport.finishAuth(codeOf(new URL(back.redirect)))

    for (const hasExpired of [false, true]) {
      if (hasExpired) expire()
      const { client, connected } = await connect()
      await connected
      expect(await client.callTool({ name: "results" })).toMatchObject({
        content: [{ type: "text", text: "User 7 has no results." }]
      })
      await client.close()
    }
  } finally {
    await startlist.close()
    server.closeAllConnections()
    server.close()
  }
})
