/**
 * Load on a service during disturbances, and a record of all confirmed changes.
 *
 * Each registration has one writer, and each of its changes has a number. A chain refreshes with the token of its last
 * response. If a request gets no response, its outcome is unknown. It is checked at the end.
 */
import { Browser } from "./Browser.ts"
import { authorizeUrl, consent, exchange, refresh, subscribe, type Tokens } from "./Consent.ts"
import {
  type Client,
  createApplication,
  createRegistration,
  createUser,
  operate,
  type Person,
  type Target
} from "./Operator.ts"
import type { Receiver } from "./Receiver.ts"

interface Writer {
  readonly registration: number
  /** The number of the latest attempted change. */
  tried: number
  /** Numbers of the confirmed changes. */
  readonly saved: Set<number>
  /** Number of an attempted change that got no response. */
  doubt: number | undefined
}

interface Chain {
  readonly user: Person
  readonly browser: Browser
  token: string
  isDoubtful: boolean
}

export interface Storm {
  /** Waits until this many more changes, and as many more refreshes, have succeeded. */
  readonly progress: (count: number) => Promise<void>
  /** Ends the load, waits for all events, and returns the broken promises. */
  readonly settle: () => Promise<ReadonlyArray<string>>
  /** Ends the load without checks. */
  readonly abandon: () => void
  readonly answered: () => { readonly changes: number; readonly refreshes: number }
}

const label = (number: number): string => `status ${number}`

/** Starts the load. `current` returns the running service. Its promise is pending while no service runs. */
export const brew = async (
  current: () => Promise<Target>,
  receiver: Receiver,
  { chains: chainCount, strict = false, writers: writerCount }: {
    readonly chains: number
    readonly writers: number
    /** Whether a missing response or a 503 is a broken promise. Default: no. */
    readonly strict?: boolean
  }
): Promise<Storm> => {
  const first = await current()
  const broken: Array<string> = []
  const answered = { changes: 0, refreshes: 0 }
  const watchers = new Set<() => void>()
  let isOver = false

  const owner = await createUser(first, "platform")
  const client: Client = await createApplication(first, owner)
  const obtain = async (user: Person, browser: Browser): Promise<Tokens> => {
    const service = await current()
    const back = await consent(authorizeUrl(service, client), user, "allow", browser)
    const response = await exchange(service, client, back.searchParams.get("code") ?? "")
    if (response.status !== 200) throw new Error(`no tokens but ${response.status}`)
    return await response.json()
  }
  const subscribed = await subscribe(first, (await obtain(owner, new Browser())).access_token, receiver.url)
  if (subscribed.status !== 201) throw new Error(`no subscription but ${subscribed.status}`)
  const athlete = await createUser(first, "athlete")
  await obtain(athlete, new Browser())

  const writers: Array<Writer> = []
  for (let i = 0; i < writerCount; i++) {
    const registration = await createRegistration(first, { athlete_id: athlete.id })
    writers.push({ registration, tried: 0, saved: new Set(), doubt: undefined })
  }
  const chains: Array<Chain> = []
  for (let i = 0; i < chainCount; i++) {
    const user = await createUser(first, "athlete")
    const browser = new Browser()
    chains.push({ user, browser, token: (await obtain(user, browser)).refresh_token, isDoubtful: false })
  }

  const succeeded = (kind: keyof typeof answered) => {
    answered[kind]++
    for (const look of watchers) look()
  }

  /** Whether the outcome is unknown: no response, or a 503. Any other 5xx is a broken promise. */
  const attempt = async <A>(request: () => Promise<A & { readonly status: number }>) => {
    try {
      const answer = await request()
      if (answer.status >= 500 && (strict || answer.status !== 503)) {
        broken.push(`an answer with status ${answer.status}`)
      }
      return answer.status === 503 ? undefined : answer
    } catch (error) {
      if (strict) broken.push(`a request without an answer: ${error}`)
      return undefined
    }
  }

  const settleDoubt = async (writer: Writer): Promise<boolean> => {
    const { doubt, registration } = writer
    if (doubt === undefined) return true
    const service = await current()
    const answer = await attempt(() => operate(service, "GET", `/registrations/${registration}`))
    if (answer === undefined) return false
    if (answer.body.registration_status === label(doubt)) writer.saved.add(doubt)
    writer.doubt = undefined
    return true
  }

  const write = async (writer: Writer): Promise<void> => {
    if (!await settleDoubt(writer)) return
    const service = await current()
    const number = ++writer.tried
    const answer = await attempt(() =>
      operate(service, "PATCH", `/registrations/${writer.registration}`, { registration_status: label(number) })
    )
    if (answer === undefined) writer.doubt = number
    else if (answer.status === 200) {
      writer.saved.add(number)
      succeeded("changes")
    } else broken.push(`a change was answered with ${answer.status}`)
  }

  const advance = async (chain: Chain): Promise<void> => {
    const service = await current()
    const response = await attempt(() => refresh(service, client, chain.token))
    const body = await response?.json().catch(() => undefined)
    if (response === undefined || body === undefined) chain.isDoubtful = true
    else if (response.status === 200) {
      chain.token = body.refresh_token
      chain.isDoubtful = false
      succeeded("refreshes")
    } else if (chain.isDoubtful && response.status === 401) {
      const tokens = await obtain(chain.user, chain.browser).catch(() => undefined)
      if (tokens === undefined) return
      chain.token = tokens.refresh_token
      chain.isDoubtful = false
    } else broken.push(`the current refresh token was answered with ${response.status} ${body.error}`)
  }

  /** Waits before the next request to a failing service, as a client should. */
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
  const forever = async (step: () => Promise<void>): Promise<void> => {
    while (!isOver) {
      const before = answered.changes + answered.refreshes
      await step()
      if (before === answered.changes + answered.refreshes) await pause()
    }
  }
  const load = Promise.all([
    ...writers.map((writer) => forever(() => write(writer))),
    ...chains.map((chain) => forever(() => advance(chain)))
  ])

  const progress = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const goal = { changes: answered.changes + count, refreshes: answered.refreshes + count }
      const look = () => {
        if (answered.changes < goal.changes || answered.refreshes < goal.refreshes) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
    })

  /**
   * Number of deliveries about each registration whose record says that they ended without success. Processes
   * that are killed repeatedly may claim one five times without an outcome. Then it is set aside (law 5).
   */
  const untold = async (): Promise<ReadonlyMap<number, number>> => {
    const service = await current()
    const counts = new Map<number, number>()
    for (const state of ["set_aside", "exhausted"]) {
      const { body } = await operate(service, "GET", `/deliveries?state=${state}&limit=100`)
      for (const { object_id } of body.deliveries) counts.set(object_id, (counts.get(object_id) ?? 0) + 1)
    }
    return counts
  }

  const settle = async (): Promise<ReadonlyArray<string>> => {
    isOver = true
    await load
    for (const writer of writers) while (!await settleDoubt(writer)) await pause()
    for (const chain of chains) {
      await advance(chain)
      while (chain.isDoubtful) await advance(chain)
    }

    const saved = new Set(
      writers.flatMap((writer) => [...writer.saved].map((number) => `${writer.registration} ${label(number)}`))
    )
    const told = new Map<string, Set<string>>()
    const order = new Map<number, Array<number>>()
    const isComplete = () => {
      told.clear()
      order.clear()
      for (const { body, headers, method } of receiver.received) {
        if (method !== "POST") continue
        const event = JSON.parse(body)
        const key = `${event.object_id} ${event.updates.registration_status}`
        const ids = told.get(key) ?? new Set()
        const isNew = ids.size === 0
        told.set(key, ids.add(String(headers["webhook-id"])))
        const number = Number(event.updates.registration_status.slice(label(0).length - 1))
        if (isNew) order.set(event.object_id, [...order.get(event.object_id) ?? [], number])
      }
      return [...saved].every((key) => told.has(key))
    }
    await receiver.until(isComplete).catch(async () => {
      const excused = await untold()
      for (const { registration, saved: numbers } of writers) {
        const missing = [...numbers].map((number) => `${registration} ${label(number)}`).filter((key) => !told.has(key))
        if (missing.length > (excused.get(registration) ?? 0)) broken.push(`events are lost: ${missing.join(", ")}`)
      }
    })
    for (const [key, ids] of told) {
      if (!saved.has(key)) broken.push(`an event came for ${key}, which was never saved`)
      if (ids.size > 1) broken.push(`${key} has ${ids.size} events`)
    }
    for (const [registration, numbers] of order) {
      if (numbers.some((number, i) => i > 0 && number <= (numbers[i - 1] ?? 0))) {
        broken.push(`the events of ${registration} came out of order: ${numbers.join(" ")}`)
      }
    }
    return broken
  }

  const abandon = (): void => {
    isOver = true
  }

  return { progress, settle, abandon, answered: () => answered }
}
