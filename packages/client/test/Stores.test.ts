import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import wasm from "node-sqlite3-wasm"
import {
  ConnectAgain,
  createClient,
  type EventStore,
  memoryEvents,
  memoryTokens,
  type TokenStore
} from "@startlist/client"
import * as Postgres from "@startlist/client/Postgres"
import * as Sqlite from "@startlist/client/Sqlite"
import { Fake } from "@startlist/fake"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const connection = (revision: string, accessToken: string, userId = 2 ** 53 - 1) => ({
  revision,
  userId,
  since: 1_800_000_000,
  createdAt: 1_800_000_000,
  accessToken,
  refreshToken: "refresh ' \"",
  expiresAt: 1_900_000_000_000,
  refreshing: undefined
})

const keepsTokens = async (store: TokenStore): Promise<void> => {
  const [one, two, three] = [connection("a", "1"), connection("b", "2"), connection("c", "3")]
  expect(await store.load("ada")).toBeUndefined()
  expect(await store.save("ada", one, "z")).toBe(false)
  expect(await store.save("ada", one, undefined)).toBe(true)
  expect(await store.save("ada", two, undefined)).toBe(false)
  expect(await store.load("ada")).toEqual(one)
  expect(await store.load("alan")).toBeUndefined()
  expect(await store.save("ada", { ...two, refreshing: "key" }, "a")).toBe(true)
  expect(await store.save("ada", three, "a")).toBe(false)
  expect(await store.load("ada")).toEqual({ ...two, refreshing: "key" })
  const races = await Promise.all(["x", "y", "z"].map((name) => store.save("ada", connection(name, name), "b")))
  expect(races.filter((isSaved) => isSaved)).toHaveLength(1)
  expect(await store.save("ada", undefined, "b")).toBe(false)
  const present = await store.load("ada")
  expect(await store.save("ada", undefined, present?.revision)).toBe(true)
  expect(await store.load("ada")).toBeUndefined()
  for (const [user, id] of [["ada", 7], ["alan", 8], ["grace", 7]] as const) {
    await store.save(user, connection("a", "1", id), undefined)
  }
  expect([...await store.usersOf(7)].sort()).toEqual(["ada", "grace"])
  await store.save("ada", connection("b", "1", 9), "a")
  await store.save("alan", undefined, "a")
  expect([await store.usersOf(7), await store.usersOf(8), await store.usersOf(9)]).toEqual([["grace"], [], ["ada"]])
}

/** Windows of one user, at several processes, that reach `connect` in any order. */
const keepsNewest = async (store: TokenStore): Promise<void> => {
  const options = { url: "https://startlist.example", clientId: 1, clientSecret: "s", redirectUri: "http://localhost/" }
  const connect = (createdAt: number, user = "windows") =>
    createClient(options).tokens(store).connect(user, {
      ...connection("", `access ${createdAt}`),
      createdAt,
      scope: undefined
    })
  const orders = [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3]]
  for (const order of orders) {
    await Promise.all(order.map((time) => connect(time, `parallel ${order}`)))
    const results = []
    for (const time of order) results.push(await connect(time, `in turn ${order}`))
    expect(results).toEqual(order.map((time, place) => order.slice(0, place).every((earlier) => earlier < time)))
    for (const way of ["parallel", "in turn"]) {
      expect(await store.load(`${way} ${order}`)).toMatchObject({ accessToken: "access 3", since: 3, createdAt: 3 })
    }
  }
}

const keepsEvents = async (store: EventStore): Promise<void> => {
  expect(await store.waiting(10, 0)).toEqual([])
  const event = (n: number, sequence: number | undefined = 2 ** 53 - n) => ({
    id: `evt_${n}`,
    body: `{"n":${n}}`,
    object: n < 6 ? "registration 1" : "registration 2",
    sequence
  })
  expect([await store.add(event(2)), await store.add(event(1)), await store.add(event(2))]).toEqual([true, true, false])
  expect(await store.waiting(10, 0)).toEqual([event(2), event(1)])
  expect(await store.waiting(1, 0)).toEqual([event(2)])
  expect(await store.waiting(10, 1)).toEqual([event(1)])
  await store.done(["evt_2"])
  expect(await store.waiting(10, 0)).toEqual([event(1)])
  expect(await store.add(event(2))).toBe(false)
  expect(await store.newest("registration 1")).toBe(2 ** 53 - 2)
  for (const [n, sequence] of [[3, 12], [4, 2 ** 53 - 1], [5, 0], [6, 1], [7, undefined]] as const) {
    await store.add({ ...event(n), sequence })
  }
  expect(await store.newest("registration 2")).toBeUndefined()
  await store.done(["evt_3", "evt_5", "evt_7"])
  expect([await store.newest("registration 1"), await store.newest("registration 2")]).toEqual([2 ** 53 - 2, undefined])
  await store.done(["evt_4", "evt_6"])
  expect([await store.newest("registration 1"), await store.newest("registration 2")]).toEqual([2 ** 53 - 1, 1])
  expect(await store.newest("athlete 1")).toBeUndefined()
  const leases = [
    await store.lease("one", 100, 200),
    await store.lease("two", 150, 250),
    await store.lease("one", 150, 210),
    await store.lease("two", 209, 300),
    await store.lease("two", 210, 300),
    await store.lease("one", 220, 300)
  ]
  expect(leases).toEqual([true, false, true, false, true, false])
  expect(await store.cursor()).toBeUndefined()
  await store.keepCursor("7")
  expect(await store.cursor()).toBe("7")
  await store.keepCursor(undefined)
  expect(await store.cursor()).toBeUndefined()
}

const both = async (tokens: TokenStore, events: EventStore) => {
  await keepsTokens(tokens)
  await keepsNewest(tokens)
  await keepsEvents(events)
}

it("stores in memory save tokens and events", () => both(memoryTokens(), memoryEvents()))

const openSqlite = () => {
  const opened = new wasm.Database(":memory:")
  const database: Sqlite.Database = {
    exec: (text) => opened.exec(text),
    prepare: (text) => ({
      run: (...values) => opened.run(text, values),
      all: (...values) => opened.all(text, values)
    })
  }
  return { database, opened }
}

it("stores in SQLite save tokens and events", async () => {
  const { database, opened } = openSqlite()
  database.exec(Sqlite.tables)
  database.exec(Sqlite.tables)
  await both(Sqlite.sqliteTokens(database), Sqlite.sqliteEvents(database))
  opened.close()
})

it("stores in SQLite wait for other processes, as long as the database says, or five seconds", () => {
  for (const make of [Sqlite.sqliteTokens, Sqlite.sqliteEvents]) {
    for (const [given, kept] of [[0, 5000], [700, 700]]) {
      const { database, opened } = openSqlite()
      database.exec(`PRAGMA busy_timeout = ${given}`)
      make(database)
      expect(database.prepare("PRAGMA busy_timeout").all()).toEqual([{ timeout: kept }])
      opened.close()
    }
  }
})

it("stores in node:sqlite, if Node has it, save tokens and events", async (context) => {
  // The compiler does not resolve a computed name. Node 20 does not have this module.
  const name = "node:sqlite"
  const sqlite = await import(name).catch(() => undefined)
  if (sqlite === undefined) return context.skip("this Node has no node:sqlite")
  const database = new sqlite.DatabaseSync(":memory:")
  database.exec(Sqlite.tables)
  await both(Sqlite.sqliteTokens(database), Sqlite.sqliteEvents(database))
  database.close()
})

it.scopedLive("stores in PostgreSQL save tokens and events", () =>
  Effect.gen(function*() {
    const { admin } = yield* TestDatabase.TestDatabase
    yield* Effect.promise(async () => {
      await admin.query(Postgres.tables)
      await admin.query(Postgres.tables)
      await both(Postgres.postgresTokens(admin), Postgres.postgresEvents(admin))
      await Postgres.removeOldEvents(admin)
    })
  }).pipe(Effect.provide(TestDatabase.layer)))

it("a store that loses refreshes in progress loses the user after a lost response", async () => {
  const fake = await Fake.start()
  try {
    const { clientId, clientSecret } = fake.application
    const redirectUri = "http://localhost:7000/back"
    const client = createClient({ url: fake.url, clientId, clientSecret, redirectUri, now: () => fake.now().getTime() })
    const store = memoryTokens()
    const forgetful: TokenStore = {
      ...store,
      load: async (user) => {
        const found = await store.load(user)
        return found === undefined ? undefined : { ...found, refreshing: undefined }
      }
    }
    const { keep, url } = await client.authorize({ scope: "read" })
    const back = await fake.consent(url, "alice@athletes.example")
    await client.tokens(forgetful).connect("1", await client.finish(back, keep))
    await fake.advance("8 hours")
    fake.nextResponses({ fault: "lost", path: "/oauth/token" })
    await client.tokens(forgetful).accessFor("1").catch(() => {})
    await expect(client.tokens(forgetful).accessFor("1")).rejects.toBeInstanceOf(ConnectAgain)
  } finally {
    await fake.stop()
  }
})
