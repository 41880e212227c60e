/**
 * The event log on real nodes: two writers, one reader, transactions that stay open across its pages, and a killed
 * node. `EVENT_LOG_SECONDS=60` runs it for a minute.
 */
import { expect, it } from "@effect/vitest"
import { Registrations } from "@startlist/core"
import { RegistrationId } from "@startlist/core/Registration"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import { changeRegistration, createApplication, createRegistration, createUser } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { type Service, startService } from "@startlist/test-support/ServiceProcess"
import { SqlClient } from "@effect/sql"
import { Effect, ManagedRuntime, Redacted } from "effect"
import type { Pool } from "pg"

const seconds = Number(process.env["EVENT_LOG_SECONDS"] ?? 10)

const limit = 7

interface LogEntry {
  readonly webhook_id: string
  readonly event: { readonly object_id: number }
  readonly cursor: string
}

/** A reader with a token and a cursor, which uses any node that answers. */
const makeReader = (node: () => Service | undefined, token: string) => {
  const seen: Array<LogEntry> = []
  return {
    seen,
    /** Reads a page. Returns whether it reached the end; false if the node did not answer. */
    read: async (): Promise<boolean> => {
      const after = seen.at(-1)?.cursor
      const query = `limit=${limit}${after === undefined ? "" : `&after=${after}`}`
      try {
        const response = await fetch(`${node()?.url}/api/v1/webhook_subscription/events?${query}`, {
          headers: { authorization: `Bearer ${token}` }
        })
        if (!response.ok) return false
        const { events }: { readonly events: ReadonlyArray<LogEntry> } = await response.json()
        seen.push(...events)
        return events.length < limit
      } catch {
        return false
      }
    }
  }
}

/** The events in the database in the order of their rows, which is the order for each object. */
const storedEvents = async (admin: Pool): Promise<ReadonlyArray<{ id: string; object: string }>> => {
  const { rows } = await admin.query(
    "SELECT event_id AS id, object_id AS object FROM startlist_deliveries ORDER BY startlist_deliveries.id"
  )
  return rows
}

const byObject = (events: ReadonlyArray<{ readonly id: string; readonly object: string }>) => {
  const lists = new Map<string, Array<string>>()
  for (const { id, object } of events) lists.set(object, [...(lists.get(object) ?? []), id])
  return lists
}

it.scopedLive(
  "a reader misses no event and sees none twice, despite concurrent commits and kills",
  () =>
    Effect.gen(function*() {
      const { admin, url } = yield* makeDatabase
      const receiver = yield* makeReceiver
      const environment = installation(Redacted.value(url))
      const nodes: Array<Service | undefined> = yield* Effect.promise(() =>
        Promise.all([startService(environment), startService(environment)])
      )
      yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(nodes.map((node) => node?.stop("SIGKILL")))))
      const [one] = nodes
      if (one === undefined) return
      const embedder = ManagedRuntime.make(fixtures.node({ url }))
      yield* Effect.addFinalizer(() => embedder.disposeEffect)

      yield* Effect.promise(async () => {
        const platform = await createUser(one, "platform")
        const athlete = await createUser(one, "athlete")
        const client = await createApplication(one, platform)
        await obtainTokens(one, client, athlete)
        const { access_token } = await obtainTokens(one, client, platform)
        expect((await subscribe(one, access_token, receiver.url)).status).toBe(201)
        const registration = () => createRegistration(one, { athlete_id: athlete.id })
        const registrations = [await registration(), await registration(), await registration()]

        const end = Date.now() + seconds * 1000
        let changes = 0
        const change = async (node: () => Service | undefined, id: number) => {
          const service = node()
          if (service !== undefined) await changeRegistration(service, id, { comment: `${++changes}` }).catch(() => {})
        }
        const write = async (node: () => Service | undefined) => {
          while (Date.now() < end) {
            await change(node, registrations[changes % registrations.length] ?? 0)
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        }
        /** An embedder whose transaction has changed a registration, and stays open for several pages. */
        const holdOpen = async () => {
          while (Date.now() < end) {
            const id = RegistrationId.make(registrations[2] ?? 0)
            await embedder.runPromise(
              Effect.flatMap(SqlClient.SqlClient, (sql) =>
                sql.withTransaction(
                  Effect.flatMap(Registrations.Registrations, (service) =>
                    Effect.zipRight(
                      service.change(id, { comment: `held ${++changes}` }),
                      Effect.sleep("300 millis")
                    ))
                )).pipe(Effect.ignore)
            )
          }
        }
        const reader = makeReader(() => nodes[0] ?? nodes[1], access_token)
        const readOn = async () => {
          while (Date.now() < end) await reader.read()
        }
        const kill = async () => {
          await new Promise((resolve) => setTimeout(resolve, seconds * 300))
          const killed = nodes[0]
          nodes[0] = undefined
          await killed?.stop("SIGKILL")
          nodes[0] = await startService(environment)
        }
        await Promise.all([write(() => nodes[0]), write(() => nodes[1]), holdOpen(), readOn(), kill()])
        await expect.poll(reader.read).toBe(true)
        const stored = await storedEvents(admin)
        expect(stored.length).toBeGreaterThan(20)
        const seen = reader.seen.map(({ event, webhook_id }) => ({
          id: webhook_id,
          object: String(event.object_id)
        }))
        expect(seen).toHaveLength(stored.length)
        expect(byObject(seen)).toEqual(byObject(stored))
        const bodies = new Map(reader.seen.map(({ event, webhook_id }) => [webhook_id, JSON.stringify(event)]))
        const posted = receiver.events()
        expect(posted.length).toBeGreaterThan(0)
        for (const { body, id } of posted) expect(body).toBe(bodies.get(id))
      })
    })
)
