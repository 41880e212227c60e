import { Fake } from "@startlist/fake"
import { type Client, ConnectAgain, createClient, memoryTokens, type TokenStore, TryLater } from "@startlist/client"
import { FastCheck } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const redirectUri = "http://localhost:7000/back"
const alice = "alice@athletes.example"
const scope = "profile:read read"

let fake: Fake.Fake
beforeAll(async () => {
  fake = await Fake.start()
})
afterAll(() => fake.stop())

const clientOf = (
  options: { readonly fetch?: typeof fetch; readonly issuer?: string; readonly now?: () => number } = {}
): Client =>
  createClient({
    url: fake.url,
    clientId: fake.application.clientId,
    clientSecret: fake.application.clientSecret,
    redirectUri,
    now: () => fake.now().getTime(),
    ...options
  })

const connected = async (client: Client, store: TokenStore, user = "1"): Promise<void> => {
  const { keep, url } = await client.authorize({ scope })
  await client.tokens(store).connect(user, await client.finish(await fake.consent(url, alice), keep))
}

const athlete = async (token: string) =>
  (await fetch(`${fake.url}/api/v1/athlete`, { headers: { authorization: `Bearer ${token}` } })).status

const refreshes = () => fake.requests().filter(({ body }) => body.includes("grant_type=refresh_token"))

describe("authorization", () => {
  it("is a few lines, from the consent to an access token", async () => {
    const client = clientOf()
    const tokens = client.tokens(memoryTokens())
    // Remember `keep` in the user's session, and send the browser to `url`.
    const { keep, url } = await client.authorize({ scope: "profile:read" })
    const back = await fake.consent(url, alice)
    // The browser is back at your redirect URI.
    await tokens.connect("your-user", await client.finish(back, keep))
    // Before each request, from any process. It refreshes if necessary.
    const accessToken = await tokens.accessFor("your-user")
    expect(await athlete(accessToken)).toBe(200)
  })

  it("sends PKCE and state, and ends with tokens", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope, locale: "fr", role: "athlete" })
    const query = new URL(url).searchParams
    expect([query.get("code_challenge_method"), query.get("locale"), query.get("role")]).toEqual([
      "S256",
      "fr",
      "athlete"
    ])
    const tokens = await client.finish(await fake.consent(url, alice), keep)
    expect([await athlete(tokens.accessToken), tokens.scope]).toEqual([200, scope])
  })

  it("distinguishes a refusal by the user, a redirect of another session and an error of the application", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope })
    await expect(client.finish(await fake.consent(url, alice, "deny"), keep)).rejects.toMatchObject({
      name: "AccessDenied"
    })
    await expect(client.finish(`${redirectUri}?code=theirs&state=theirs`, keep)).rejects.toMatchObject({
      code: "invalid_state"
    })
    const mistaken = `${redirectUri}?error=invalid_scope&state=${keep.state}`
    await expect(client.finish(mistaken, keep)).rejects.toMatchObject({ code: "invalid_scope" })
  })

  it("a redirect with a planted parameter is refused, before or after the answer", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope })
    const back = await fake.consent(url, alice)
    const { search } = new URL(back)
    const planted = ["code=theirs", "%63ode=theirs", `state=${keep.state}`].flatMap((one) => [
      `${redirectUri}?${one}&${search.slice(1)}`,
      `${redirectUri}${search}&${one}`
    ])
    for (const ambiguous of planted) {
      await expect(client.finish(ambiguous, keep)).rejects.toMatchObject({ code: "invalid_response" })
    }
    expect(await athlete((await client.finish(back, keep)).accessToken)).toBe(200)
  })

  it("a redirect that names another issuer is refused, also with an error (RFC 9207)", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope })
    const back = await fake.consent(url, alice)
    const named = (issuer: string) => `${back}&iss=${encodeURIComponent(issuer)}`
    for (const issuer of ["https://evil.example", `${fake.url}/`, ""]) {
      await expect(client.finish(named(issuer), keep)).rejects.toMatchObject({ code: "invalid_issuer" })
    }
    const denied = `${redirectUri}?error=access_denied&state=${keep.state}&iss=${
      encodeURIComponent("https://evil.example")
    }`
    await expect(client.finish(denied, keep)).rejects.toMatchObject({ code: "invalid_issuer" })
    await expect(clientOf({ issuer: "https://club.example" }).finish(named(fake.url), keep)).rejects.toMatchObject({
      code: "invalid_issuer"
    })
    expect(await athlete((await client.finish(named(fake.url), keep)).accessToken)).toBe(200)
  })

  it("an exchange whose response was lost can be repeated", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope })
    const back = await fake.consent(url, alice)
    fake.nextResponses({ fault: "lost", path: "/oauth/token" })
    await expect(client.finish(back, keep)).rejects.toBeInstanceOf(TryLater)
    expect(await athlete((await client.finish(back, keep)).accessToken)).toBe(200)
  })
})

describe("tokens", () => {
  it("are returned unchanged while they are valid, and refreshed once for any number of callers", async () => {
    const store = memoryTokens()
    const clients = [clientOf(), clientOf(), clientOf()]
    await connected(clients[0] ?? clientOf(), store)
    fake.clearRequests()
    const ask = () =>
      Promise.all(clients.flatMap((client) => {
        const tokens = client.tokens(store)
        return [tokens.accessFor("1"), tokens.accessFor("1"), tokens.accessFor("1")]
      }))
    const before = new Set(await ask())
    expect([before.size, refreshes().length]).toEqual([1, 0])
    await fake.advance("8 hours")
    const after = new Set(await ask())
    expect(after.size).toBe(1)
    expect(await athlete([...after][0] ?? "")).toBe(200)
    // A process whose wait for another one has timed out repeats its request: the same refresh.
    expect(new Set(refreshes().map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
  })

  it("after a lost response, any process repeats the same request", async () => {
    const store = memoryTokens()
    await connected(clientOf(), store)
    await fake.advance("8 hours")
    fake.clearRequests()
    fake.nextResponses({ fault: "lost", path: "/oauth/token" })
    await expect(clientOf().tokens(store).accessFor("1")).rejects.toBeInstanceOf(TryLater)
    expect(await athlete(await clientOf().tokens(store).accessFor("1"))).toBe(200)
    expect(new Set(refreshes().map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
    expect(refreshes()).toHaveLength(2)
  })

  for (const minutes of [-5, 0, 5]) {
    it(`the tokens of a repeated response are refreshed in time, by a clock that is ${minutes} minutes off`, async () => {
      const store = memoryTokens()
      const client = clientOf({ now: () => fake.now().getTime() + minutes * 60_000 })
      await connected(client, store)
      await fake.advance("8 hours")
      fake.nextResponses({ fault: "lost", path: "/oauth/token" })
      await expect(client.tokens(store).accessFor("1")).rejects.toBeInstanceOf(TryLater)
      await fake.advance("9 minutes")
      const repeated = await client.tokens(store).accessFor("1")
      await fake.advance("460 minutes")
      expect([await client.tokens(store).accessFor("1"), await athlete(repeated)]).toEqual([repeated, 200])
      await fake.advance("11 minutes")
      expect(await athlete(repeated)).toBe(401)
      expect(await athlete(await client.tokens(store).accessFor("1"))).toBe(200)
    })
  }

  it("an unavailable service, or one with Retry-After, causes TryLater", async () => {
    const store = memoryTokens()
    await connected(clientOf(), store)
    await fake.advance("8 hours")
    fake.nextResponses({ fault: "unavailable", path: "/oauth/token" })
    await expect(clientOf().tokens(store).accessFor("1")).rejects.toMatchObject({ name: "TryLater", retryAfter: 1 })
    expect(await athlete(await clientOf().tokens(store).accessFor("1"))).toBe(200)
  })

  it("a user who revoked the access must connect again", async () => {
    const store = memoryTokens()
    const tokens = clientOf().tokens(store)
    await connected(clientOf(), store)
    await fake.revoke(alice)
    await fake.advance("8 hours")
    await expect(tokens.accessFor("1")).rejects.toBeInstanceOf(ConnectAgain)
    fake.clearRequests()
    await expect(tokens.accessFor("1")).rejects.toBeInstanceOf(ConnectAgain)
    expect(refreshes()).toEqual([])
  })

  it("a token that the service refused is not returned again", async () => {
    const store = memoryTokens()
    const tokens = clientOf().tokens(store)
    await connected(clientOf(), store)
    const refused = await tokens.accessFor("1")
    const other = await tokens.accessFor("1", { insteadOf: refused })
    expect(other).not.toBe(refused)
    expect(await tokens.accessFor("1")).toBe(other)
  })

  it("the grant of a disconnected user is revoked and removed, unless the revocation fails", async () => {
    const store = memoryTokens()
    const tokens = clientOf().tokens(store)
    await connected(clientOf(), store)
    const token = await tokens.accessFor("1")
    fake.nextResponses({ fault: "unavailable", path: "/oauth/revoke" })
    await expect(tokens.disconnect("1")).rejects.toBeInstanceOf(TryLater)
    expect(await tokens.accessFor("1")).toBe(token)
    await tokens.disconnect("1")
    expect(await athlete(token)).toBe(401)
    await expect(tokens.accessFor("1")).rejects.toBeInstanceOf(ConnectAgain)
    await tokens.disconnect("1")
  })

  it("the newer of two connections stays, also if its tokens arrive first or the older ones arrive again", async () => {
    const client = clientOf()
    const store = memoryTokens()
    const tokens = client.tokens(store)
    const finished = async () => {
      const { keep, url } = await client.authorize({ scope })
      const fresh = await client.finish(await fake.consent(url, alice), keep)
      await fake.advance("2 seconds")
      return fresh
    }
    const [older, newer] = [await finished(), await finished()]
    expect([await tokens.connect("1", newer), await tokens.connect("1", older)]).toEqual([true, false])
    expect(await athlete(await tokens.accessFor("1", { insteadOf: newer.accessToken }))).toBe(200)
    // A process that was suspended between `finish` and `connect` has the tokens from before the refresh.
    expect(await tokens.connect("1", newer)).toBe(false)
    await fake.advance("8 hours")
    expect(await athlete(await tokens.accessFor("1"))).toBe(200)
  })

  for (const who of [alice, "olga@races.example", "paul@platform.example"]) {
    it(`forget finds ${who} by number, and ends only a connection that began before the event`, async () => {
      const store = memoryTokens()
      const client = clientOf()
      const tokens = client.tokens(store)
      const { id } = fake.users().find(({ email }) => email === who) ?? { id: 0 }
      const { keep, url } = await client.authorize({ scope })
      const fresh = await client.finish(await fake.consent(url, who), keep)
      expect(fresh.userId).toBe(id)
      await tokens.connect("one", fresh)
      await tokens.connect("two", fresh)
      await tokens.connect("other", { ...fresh, userId: id + 1 })
      const event = (seconds: number, userId = id) =>
        ({
          type: "access.revoked",
          role: "organizer",
          id: "evt_1",
          subscriptionId: 1,
          sequence: 1,
          isLate: false,
          userId,
          time: new Date((fresh.createdAt + seconds) * 1000)
        }) as const
      expect(await tokens.forget(event(-1))).toEqual([])
      // The tokens get younger, and the connection does not.
      await fake.advance("8 hours")
      await tokens.accessFor("one")
      expect(await tokens.forget(event(0))).toEqual(["one", "two"])
      expect(await store.load("one")).toBeUndefined()
      expect(await store.load("other")).toBeDefined()
      expect(await tokens.forget(event(0))).toEqual([])
    })
  }

  it("a disconnection ends no connection that the user makes during it", async () => {
    const store = memoryTokens()
    await connected(clientOf(), store)
    await fake.advance("2 seconds")
    // The user connects again while the answer to the revocation is on its way.
    const client = clientOf({
      fetch: async (...input) => {
        const response = await fetch(...input)
        if (String(input[0]).endsWith("/oauth/revoke")) await connected(clientOf(), store)
        return response
      }
    })
    await client.tokens(store).disconnect("1")
    expect(await athlete(await client.tokens(store).accessFor("1"))).toBe(200)
  })

  it("finish fails if the access has ended since, and can be repeated if only the number of the user is missing", async () => {
    const client = clientOf()
    const { keep, url } = await client.authorize({ scope })
    const back = await fake.consent(url, alice)
    fake.nextResponses({ fault: "unavailable", path: "/oauth/introspect" })
    await expect(client.finish(back, keep)).rejects.toBeInstanceOf(TryLater)
    expect(await athlete((await client.finish(back, keep)).accessToken)).toBe(200)
    const ended = clientOf({
      fetch: async (...input) => {
        if (String(input[0]).endsWith("/oauth/introspect")) await fake.revoke(alice)
        return fetch(...input)
      }
    })
    const again = await ended.authorize({ scope })
    const rejected = expect(ended.finish(await fake.consent(again.url, alice), again.keep)).rejects
    await rejected.toMatchObject({ name: "Refused", code: "invalid_grant" })
  })

  it("a process that was suspended between two reads of the store does not send an old refresh token", async () => {
    const store = memoryTokens()
    await connected(clientOf(), store)
    await fake.advance("8 hours")
    let isSuspended = true
    let resume = () => {}
    const resumed = new Promise<void>((resolve) => {
      resume = resolve
    })
    // It has stored that it refreshes, and stops there.
    const suspended: TokenStore = {
      ...store,
      save: async (...input) => {
        const isSaved = await store.save(...input)
        if (isSuspended) await resumed
        return isSaved
      }
    }
    const real = performance.now.bind(performance)
    const asked = clientOf().tokens(suspended).accessFor("1")
    const first = await clientOf().tokens(store).accessFor("1")
    await fake.advance("8 hours")
    const second = await clientOf().tokens(store).accessFor("1")
    expect(second).not.toBe(first)
    isSuspended = false
    performance.now = () => real() + 3_600_000
    try {
      resume()
      expect(await asked).toBe(second)
    } finally {
      performance.now = real
    }
    expect(await athlete(second)).toBe(200)
  })
})

/** A process that can die between any two awaits. Its requests continue, as on a network. */
const process = (store: TokenStore, fetch: typeof globalThis.fetch) => {
  let isAlive = true
  const running: Array<Promise<unknown>> = []
  const mortal = <A extends ReadonlyArray<never>, B>(call: (...input: A) => Promise<B>) => async (...input: A) => {
    if (!isAlive) return new Promise<B>(() => {})
    const called = call(...input)
    running.push(called)
    const result = await called
    return isAlive ? result : new Promise<B>(() => {})
  }
  const client = clientOf({ fetch: mortal(fetch as never) as never })
  const tokens = client.tokens({ load: mortal(store.load as never), save: mortal(store.save as never) } as never)
  return {
    ask: (insteadOf?: string) => tokens.accessFor("1", insteadOf === undefined ? {} : { insteadOf }),
    /** Ends when the requests that had begun have ended. */
    die: () => {
      isAlive = false
      return Promise.allSettled(running)
    }
  }
}

it("one user stays connected, for any lost response and any dying process", async () => {
  const step = FastCheck.oneof(
    FastCheck.record({
      kind: FastCheck.constant("ask" as const),
      count: FastCheck.integer({ min: 1, max: 4 }),
      renew: FastCheck.boolean()
    }),
    FastCheck.constant({ kind: "lose" as const }),
    FastCheck.constant({ kind: "unavailable" as const }),
    FastCheck.record({ kind: FastCheck.constant("die" as const), after: FastCheck.integer({ min: 0, max: 6 }) }),
    FastCheck.constant({ kind: "wait" as const })
  )
  await FastCheck.assert(
    FastCheck.asyncProperty(FastCheck.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      fake.clearFaults()
      const store = memoryTokens()
      await connected(clientOf(), store)
      await fake.advance("8 hours")
      let last: string | undefined
      /** Many processes ask in parallel. All that get a token get the same valid one. */
      const askAll = async (count: number, insteadOf: string | undefined) => {
        const processes = Array.from({ length: count }, () => process(store, fetch))
        const outcomes = await Promise.allSettled(processes.map(({ ask }) => ask(insteadOf)))
        const tokens = new Set<string>()
        for (const outcome of outcomes) {
          if (outcome.status === "fulfilled") tokens.add(outcome.value)
          else expect(outcome.reason).toBeInstanceOf(TryLater)
        }
        expect(tokens.size).toBeLessThan(2)
        for (const token of tokens) last = token
      }
      for (const one of steps) {
        switch (one.kind) {
          case "lose":
            fake.nextResponses({ fault: "lost", path: "/oauth/token" })
            break
          case "unavailable":
            fake.nextResponses({ fault: "unavailable", path: "/oauth/token" })
            break
          case "wait":
            // Together shorter than the ten minutes in which the service repeats a response.
            await fake.advance("1 minute")
            break
          case "die": {
            const dying = process(store, fetch)
            void dying.ask(last).catch(() => undefined)
            for (let turn = 0; turn < one.after; turn++) await new Promise((resolve) => setImmediate(resolve))
            await dying.die()
            break
          }
          case "ask":
            await askAll(one.count, one.renew ? last : undefined)
        }
      }
      fake.clearFaults()
      await askAll(1, undefined)
      expect(await athlete(last ?? "")).toBe(200)
    }),
    { numRuns: 15 }
  )
})
