import { createHmac } from "node:crypto"
import { createServer, request } from "node:http"
import { setImmediate as turn } from "node:timers/promises"
import { Fake } from "@startlist/fake"
import {
  createClient,
  type Event,
  type EventStore,
  type Inbox,
  type InboxOptions,
  memoryEvents
} from "@startlist/client"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const redirectUri = "http://localhost:7000/back"
const verifyToken = "something only we know"

let fake: Fake.Fake
const cleanUp: Array<() => unknown> = []
beforeEach(async () => {
  fake = await Fake.start({ signsBy: "fake" })
})
afterEach(async () => {
  for (const close of cleanUp.splice(0)) await close()
  await fake.stop()
})

const client = () =>
  createClient({
    url: fake.url,
    clientId: fake.application.clientId,
    clientSecret: fake.application.clientSecret,
    redirectUri,
    now: () => fake.now().getTime()
  })

/** Serves an inbox with `node:http`. Returns the callback URL. */
const serve = async (inbox: Inbox): Promise<string> => {
  const server = createServer(inbox.node)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  cleanUp.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/callback`
}

const makeInbox = (
  store: EventStore,
  handle: InboxOptions["handle"],
  errors: Array<unknown> = [],
  late: "flag" | "skip" = "flag"
) => {
  const inbox = client().inbox({
    late,
    store,
    verifyToken,
    signingSecrets: () => [fake.application.signingSecret],
    handle,
    onError: (error) => errors.push(error)
  })
  return inbox
}

const tokenOf = async (user: string) => {
  const { keep, url } = await client().authorize({ scope: "read" })
  return (await client().finish(await fake.consent(url, user), keep)).accessToken
}

const subscribed = async (callbackUrl: string) => {
  const token = await tokenOf("paul@platform.example")
  await tokenOf("alice@athletes.example")
  await client().subscribe(token, callbackUrl, verifyToken)
  return { token, registration: await fake.addRegistration() }
}

const comments = (events: ReadonlyArray<Event>) =>
  events.flatMap((event) => event.type === "registration.changed" ? [event.updates.comment] : [])

describe("an inbox", () => {
  it("answers the challenge, accepts events once, and handles them after the response", async () => {
    const events: Array<Event> = []
    const url = await serve(makeInbox(memoryEvents(), (event) => events.push(event)))
    const { registration } = await subscribed(url)
    fake.nextDeliveries("twice")
    await fake.changeRegistration(registration, { comment: "one" })
    await fake.revoke("alice@athletes.example")
    await fake.settle()
    await expect.poll(() => events.length).toBeGreaterThanOrEqual(2)
    // The events are about two objects, so they may arrive in either order.
    expect(events.toSorted((a, b) => a.type.localeCompare(b.type))).toEqual([
      expect.objectContaining({ type: "access.revoked", role: "athlete", userId: 2 }),
      expect.objectContaining({ type: "registration.changed", registrationId: registration })
    ])
    expect((await fake.deliveries()).map(({ state }) => state)).toEqual(["delivered", "delivered"])
  })

  it("refuses a subscription with another verify token", async () => {
    const url = await serve(makeInbox(memoryEvents(), () => {}))
    const token = await tokenOf("paul@platform.example")
    await expect(client().subscribe(token, url, "another")).rejects.toMatchObject({ name: "Refused" })
  })

  it("retries a failed event, and keeps the order of its object", async () => {
    const events: Array<Event> = []
    const errors: Array<unknown> = []
    const store = memoryEvents()
    let isBroken = true
    const inbox = makeInbox(store, (event) => {
      if (isBroken && event.type === "registration.changed" && event.registrationId === 1) throw new Error("broken")
      events.push(event)
    }, errors)
    const { registration } = await subscribed(await serve(inbox))
    const other = await fake.addRegistration()
    await fake.changeRegistration(registration, { comment: "one" })
    await fake.changeRegistration(registration, { comment: "two" })
    await fake.changeRegistration(other, { comment: "other" })
    await fake.settle()
    await expect.poll(() => events.length > 0 && errors.length > 0).toBe(true)
    expect(comments(events)).toEqual(["other"])
    isBroken = false
    await inbox.process()
    expect(comments(events)).toEqual(["other", "one", "two"])
  })

  it("handles events about other objects, for any number of events that wait for a failed one", async () => {
    const store = memoryEvents()
    const body = (id: number) =>
      JSON.stringify({ aspect_type: "updated", object_type: "registration", object_id: id, comment: "" })
    const sequence = undefined
    for (let n = 0; n < 250; n++) {
      await store.add({ id: `evt_${n}`, body: body(1), object: "registration 1", sequence })
    }
    await store.add({ id: "evt_other", body: body(2), object: "registration 2", sequence })
    const handled: Array<string> = []
    const inbox = makeInbox(store, ({ id }) => {
      if (id === "evt_0") throw new Error("broken")
      handled.push(id)
    })
    cleanUp.push(inbox.close)
    await inbox.process()
    expect(handled).toEqual(["evt_other"])
    expect(await store.waiting(1000, 0)).toHaveLength(250)
  })

  it("handles an event that is stored at any moment at which a run ends", async () => {
    for (let steps = 0; steps < 12; steps++) {
      const store = memoryEvents()
      const event = (id: string) => ({ id, body: "{}", object: id, sequence: undefined })
      await store.add(event("evt_first"))
      const handled: Array<string> = []
      let isLast = false
      const waiting: EventStore["waiting"] = async (...page) => {
        const events = await store.waiting(...page)
        if (events.length > 0 || isLast) return events
        isLast = true
        void (async () => {
          for (let step = 0; step < steps; step++) await undefined
          await store.add(event("evt_second"))
          void inbox.process()
        })()
        return events
      }
      const inbox = makeInbox({ ...store, waiting }, ({ id }) => handled.push(id))
      await inbox.process()
      await turn()
      expect([steps, handled]).toEqual([steps, ["evt_first", "evt_second"]])
    }
  })

  it("handles events after a restart that were accepted before it", async () => {
    const store = memoryEvents()
    const dead = makeInbox(store, () => new Promise(() => {}))
    const { registration } = await subscribed(await serve(dead))
    await fake.changeRegistration(registration, { comment: "one" })
    await fake.settle()
    const events: Array<Event> = []
    // The lease of the dead process has expired.
    await fake.advance("2 minutes")
    await makeInbox(store, (event) => events.push(event)).process()
    expect(comments(events)).toEqual(["one"])
  })

  it("does not acknowledge an event that is not stored, so the service retries it", async () => {
    const store = memoryEvents()
    let isDown = true
    const events: Array<Event> = []
    const broken: EventStore = {
      ...store,
      add: (event) => isDown ? Promise.reject(new Error("the disk is full")) : store.add(event)
    }
    const { registration } = await subscribed(await serve(makeInbox(broken, (event) => events.push(event))))
    await fake.changeRegistration(registration, { comment: "one" })
    await fake.settle()
    expect(events).toEqual([])
    isDown = false
    await fake.advance("1 minute")
    await expect.poll(() => events.length).toBeGreaterThan(0)
    expect(comments(events)).toEqual(["one"])
  })

  it("lets only one of two processes with one store handle events at a time", async () => {
    const store = memoryEvents()
    let running = 0
    let most = 0
    const handled: Array<string> = []
    const handle = async (event: Event) => {
      most = Math.max(most, ++running)
      await turn()
      running--
      handled.push(event.id)
    }
    const [one, two] = [makeInbox(store, handle), makeInbox(store, handle)]
    for (let n = 0; n < 6; n++) await store.add({ id: `evt_${n}`, body: "{}", object: "", sequence: n })
    await Promise.all([one.process(), two.process()])
    await expect.poll(() => handled.length).toBeGreaterThanOrEqual(6)
    expect([most, handled]).toEqual([1, [0, 1, 2, 3, 4, 5].map((n) => `evt_${n}`)])
  })

  const post = (
    inbox: Inbox,
    changes: { readonly body?: string; readonly timestamp?: number; readonly secret?: string }
  ) => {
    const { body = "{}", secret = fake.application.signingSecret, timestamp = fake.now().getTime() / 1000 } = changes
    const at = String(Math.floor(timestamp))
    const key = Buffer.from(secret.replace("whsec_", ""), "base64")
    const signature = createHmac("sha256", key).update(`evt_1.${at}.{}`).digest("base64")
    return inbox.fetch(
      new Request("http://localhost/callback", {
        method: "POST",
        headers: { "webhook-id": "evt_1", "webhook-timestamp": at, "webhook-signature": `v1,AAAA v1,${signature}` },
        body
      })
    )
  }

  it("answers requests of strangers with any method and path, and logs none of them", async () => {
    const errors: Array<unknown> = []
    const { port } = new URL(await serve(makeInbox(memoryEvents(), () => {}, errors)))
    const ask = (method: string, path: string) =>
      new Promise((resolve, reject) => {
        request({ port, method, path }, (answer) => resolve(answer.resume().statusCode)).on("error", reject).end()
      })
    expect(await ask("TRACE", "/callback")).toBe(405)
    expect(await ask("PUT", "/callback")).toBe(405)
    expect(await ask("GET", "//")).toBe(403)
    expect(await ask("GET", `//?${new URLSearchParams({ "hub.verify_token": verifyToken })}`)).toBe(200)
    expect(await ask("POST", "//")).toBe(401)
    expect(errors).toEqual([])
  })

  it("stops reading a body that is too large", async () => {
    let isCancelled = false
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => {
        isCancelled = true
      }
    })
    // Node's types do not have `duplex`, which its `fetch` requires for streams.
    const init = { method: "POST", body: endless, duplex: "half" } as RequestInit
    const inbox = makeInbox(memoryEvents(), () => {})
    expect((await inbox.fetch(new Request("http://localhost/callback", init))).status).toBe(413)
    expect(isCancelled).toBe(true)
  })

  it("stops reading a body that arrives in too many pieces", async () => {
    let pulled = 0
    const pieces = new ReadableStream({
      pull: (controller) => {
        pulled++
        controller.enqueue(new Uint8Array(1))
      }
    })
    const init = { method: "POST", body: pieces, duplex: "half" } as RequestInit
    const inbox = makeInbox(memoryEvents(), () => {})
    expect((await inbox.fetch(new Request("http://localhost/callback", init))).status).toBe(413)
    expect(pulled).toBeLessThan(1100)
  })

  it("refuses events that are unsigned, changed, too old or too large", async () => {
    const inbox = makeInbox(memoryEvents(), () => {})
    const now = fake.now().getTime() / 1000
    const answers = [
      await post(inbox, { body: "{ }" }),
      await post(inbox, { secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
      await post(inbox, { timestamp: now - 400 }),
      await post(inbox, { timestamp: now + 400 }),
      await post(inbox, { body: "x".repeat(1_100_000) }),
      await inbox.fetch(new Request("http://localhost/", { method: "POST" })),
      await inbox.fetch(new Request("http://localhost/", { method: "DELETE" })),
      await post(inbox, {})
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 413, 401, 405, 200])
  })
})

describe("catching up", () => {
  it("stores missing events once, and continues from there", async () => {
    const events: Array<Event> = []
    const store = memoryEvents()
    const inbox = makeInbox(store, (event) => events.push(event))
    const { registration, token } = await subscribed(await serve(inbox))
    await fake.changeRegistration(registration, { comment: "received" })
    await fake.settle()
    fake.nextDeliveries("never", 120)
    for (let n = 0; n < 120; n++) await fake.changeRegistration(registration, { comment: `missed ${n}` })
    expect(await inbox.catchUp(token)).toBe(120)
    expect(comments(events)).toEqual(["received", ...Array.from({ length: 120 }, (_, n) => `missed ${n}`)])
    expect(await inbox.catchUp(token)).toBe(0)
  })

  for (const late of ["flag", "skip"] as const) {
    it(`recognises events of the log that are older than handled ones, and can leave them out: ${late}`, async () => {
      const events: Array<Event> = []
      const inbox = makeInbox(memoryEvents(), (event) => events.push(event), [], late)
      const { registration, token } = await subscribed(await serve(inbox))
      const other = await fake.addRegistration()
      fake.nextDeliveries("never", 2)
      await fake.changeRegistration(registration, { comment: "older" })
      await fake.changeRegistration(other, { comment: "alone" })
      await fake.advance("5 minutes")
      await fake.changeRegistration(registration, { comment: "newer" })
      await fake.settle()
      await expect.poll(() => events.length).toBe(1)
      expect(await inbox.catchUp(token)).toBe(2)
      const handled = events.map(({ isLate, sequence }, place) => [comments(events)[place], sequence, isLate])
      expect(handled).toEqual([
        ["newer", 3, false],
        ...late === "flag" ? [["older", 2, true]] : [],
        ["alone", 2, false]
      ])
    })
  }

  it("does not change its cursor if another server answers in place of the service", async () => {
    const store = memoryEvents()
    await store.keepCursor("7")
    const { clientId, clientSecret } = fake.application
    const portal = async () => new Response("<p>Welcome to the hotel")
    const inbox = createClient({ url: fake.url, clientId, clientSecret, redirectUri, fetch: portal })
      .inbox({ store, verifyToken, signingSecrets: () => [], handle: () => {} })
    await expect(inbox.catchUp("token")).rejects.toMatchObject({ name: "Refused", code: "invalid_response" })
    expect(await store.cursor()).toBe("7")
  })

  it("starts at the beginning if the log does not have its cursor", async () => {
    const events: Array<Event> = []
    const store = memoryEvents()
    const inbox = makeInbox(store, (event) => events.push(event))
    const { registration, token } = await subscribed(await serve(inbox))
    await store.keepCursor("999999")
    fake.nextDeliveries("never")
    await fake.changeRegistration(registration, { comment: "one" })
    expect(await inbox.catchUp(token)).toBe(1)
  })
})
