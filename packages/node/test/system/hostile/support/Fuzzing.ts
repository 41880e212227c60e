/** Rounds of generated conversations with the real service, and what must hold after each. */
import { FastCheck } from "effect"
import { type Base, findBases } from "./Bases.ts"
import { conversation, have, type Told } from "./Conversations.ts"
import { growth, most, type Point } from "./Growth.ts"
import type { MeasuredService, Measures } from "./MeasuredService.ts"
import { parts, sendRuns } from "./Runs.ts"
import type { Values } from "./Requests.ts"
import { makeWorld, type World } from "./World.ts"

export interface Options {
  readonly seed: number
  /** Stops after the round in which this time is over (milliseconds). */
  readonly time: number
  /** Also judges whether the memory grows, which takes thirty rounds at least, however long they take. */
  readonly judgesGrowth?: boolean
  readonly onRound?: (report: Report) => void
}

export interface Report {
  readonly rounds: number
  readonly requests: number
  readonly milliseconds: number
  /** By method and path, how often each status was seen. */
  readonly seen: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** Bytes of memory before the first hostile request, and the most that any sample showed since. */
  readonly memory: { readonly idle: number; readonly peak: number }
  /** After each round, when everything is at rest. */
  readonly measures: ReadonlyArray<Measures & Point>
}

/** Conversations that go on at the same time. */
const batch = FastCheck.array(conversation, { minLength: 1, maxLength: 48, size: "max" })

const batchesPerRound = 12

/** Timeout of a round in milliseconds, including the shrinking of a counterexample. */
const patience = 600_000

/** Minimum number of rounds: before that, the service is still warming up, and growth cannot be judged. */
const roundsForGrowth = parts

/** Sockets that are at rest: those of the clients that prepare the world, and of deliveries to its callback. */
const restingSockets = 20

/** Waits until the sockets of the clients are closed. */
const rest = async (service: MeasuredService): Promise<Measures> => {
  const late = Date.now() + 15_000
  for (;;) {
    const measures = await service.measure()
    if (measures.sockets <= restingSockets) return measures
    if (Date.now() > late) throw new Error(`${measures.sockets} sockets are still open after the clients are gone`)
  }
}

/** Matches everything that looks like one of our secrets. */
const anySecret = /(?:sl_(?:at|rt|ac|cs|se)_|whsec_)[\w+/-]{16,}/

/** Bytes as people read them. */
export const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`

const makeLogScan = (service: MeasuredService, world: World) => {
  let scanned = 0
  return (): void => {
    const all = service.stdout() + service.stderr()
    const log = all.slice(Math.max(0, scanned - 1000))
    scanned = all.length
    const begun = anySecret.exec(log)
    if (begun !== null) throw new Error(`the log contains a secret: ${log.slice(begun.index - 200, begun.index + 12)}…`)
    for (const secret of world.secrets) {
      const at = [secret, encodeURIComponent(secret)].map((text) => log.indexOf(text)).find((index) => index >= 0)
      if (at !== undefined) throw new Error(`the log contains a secret: ${log.slice(Math.max(0, at - 200), at)}…`)
    }
  }
}

/** Conversations at the same time, which all get specified responses. */
const propertyOf = (
  service: MeasuredService,
  bases: ReadonlyArray<Base>,
  values: Values,
  count: (told: Told) => void = () => {}
) =>
  FastCheck.asyncProperty(batch, async (conversations) => {
    const told = await Promise.all(conversations.map((one) => have(service.port, bases, values, one)))
    told.flat().forEach(count)
  })

type Failed = Pick<FastCheck.RunDetails<unknown>, "counterexamplePath" | "errorInstance" | "numShrinks" | "seed">

const explain = ({ counterexamplePath, errorInstance, numShrinks, seed }: Failed): string => {
  const why = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return `${why}\n\nshrunk ${numShrinks} times; again: npm run fuzz -- --seed ${seed} --path ${counterexamplePath}`
}

/** Repeats the conversations that a seed and a path describe. */
export const replay = async (service: MeasuredService, seed: number, path: string): Promise<void> => {
  const world = await makeWorld(service)
  const bases = await findBases(service, world)
  const property = propertyOf(service, bases, world.values())
  const details = await FastCheck.check(property, { seed, path, endOnFailure: true }).finally(world.close)
  if (details.failed) throw new Error(explain(details))
}

/** Fuzzes until the time is over. Rejects with the shrunk conversation that shows a fault, or if memory has grown. */
export const fuzz = async (
  service: MeasuredService,
  { judgesGrowth = false, onRound, seed, time }: Options
): Promise<Report> => {
  const world = await makeWorld(service)
  const bases = await findBases(service, world)
  const scan = makeLogScan(service, world)
  const seen = new Map<string, Map<number, number>>(bases.map(({ name }) => [name, new Map()]))
  const measures: Array<Measures & Point> = []
  const began = Date.now()
  const idle = (await service.sample()).rss
  let peak = idle
  const watching = setInterval(() => {
    service.sample().then(({ rss }) => peak = Math.max(peak, rss), () => {})
  }, 100)
  const checkMemory = (): void => {
    if (peak <= 2 * idle) return
    throw new Error(`the service holds ${megabytes(peak)} of memory, more than twice ${megabytes(idle)} when idle`)
  }
  let requests = 0
  let rounds = 0

  const count = ({ name, status }: Told): void => {
    const statuses = seen.get(name) ?? new Map<number, number>()
    seen.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    requests++
  }
  const round = async (): Promise<void> => {
    await world.renew()
    const values = world.values()
    const property = propertyOf(service, bases, values, count)
    const details = await FastCheck.check(property, {
      seed: seed + rounds,
      numRuns: batchesPerRound,
      interruptAfterTimeLimit: patience
    })
    if (details.failed) throw new Error(explain(details))
    await sendRuns(service, bases, values, rounds)
    measures.push({ ...await rest(service), requests })
    checkMemory()
    scan()
    if (service.child.exitCode !== null) throw new Error(`the service died: ${service.stderr()}`)
    rounds++
  }
  /** First sends every valid request, so that each route is used at least once. */
  const begin = async (): Promise<void> => {
    const values = world.values()
    for (const base of bases.keys()) {
      const good = { requests: [{ base, mutations: [] }], damage: [], cuts: [], times: 1, until: null }
      const told = await have(service.port, bases, values, good)
      told.forEach(count)
    }
  }
  const report = (): Report => ({
    rounds,
    requests,
    milliseconds: Date.now() - began,
    seen,
    memory: { idle, peak },
    measures
  })
  try {
    await begin()
    while (Date.now() - began < time || (judgesGrowth && rounds < roundsForGrowth)) {
      await round()
      onRound?.(report())
    }
    const grown = judgesGrowth ? growth(measures) : 0
    if (grown > most) {
      throw new Error(`the heap grows by ${Math.round(grown)} bytes a request, and ${most} are too much`)
    }
    return report()
  } finally {
    clearInterval(watching)
    world.close()
  }
}
