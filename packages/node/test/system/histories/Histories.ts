/** Callers use shared grants of a running installation while faults happen; the history of each grant is checked. */
import { createApplication, createUser } from "@startlist/test-support/Operator"
import type { Program } from "@startlist/test-support/ServiceProcess"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { check, shrink } from "@startlist/model/histories/Checker"
import { type Fault, faults, type Installation, makeInstallation } from "./Faults.ts"
import { describe, type History, type Operation, type Request } from "@startlist/model/histories/History"
import { makeRecorder, makeSignedIn, type Recorder } from "./Recorder.ts"

export interface Options {
  readonly nodes: number
  readonly minutes: number
  readonly seed: number
  /** Nodes, from the first on, that save grants without comparing versions. */
  readonly planted?: number
  readonly onProgress?: (report: Report) => void
}

export interface Report {
  readonly seconds: number
  readonly explained: number
  /** The search became too long. */
  readonly undecided: number
  /** Number of omitted histories: a grace period could have ended in them. */
  readonly tooLong: number
  readonly operations: Readonly<Record<Request["kind"], number>>
  /** Operations whose outcome is unknown. */
  readonly unknown: number
  readonly faults: Readonly<Record<Fault, number>>
  /** Few operations of an unexplained history that no order explains, and the whole history. */
  readonly counterexample?: { readonly shrunk: History; readonly history: History }
}

/** Grants in use at the same time, callers of each, and operations of each caller. */
const lanes = 3
const callers = 4
const operationsPerCaller = 7

/** Bounds of one history: below the least that removes tokens and codes, and below the grace period of 60 s. */
const maxIssues = 18
const maxConsents = 6
const maxMillis = 50_000
/** A caller begins no operation after this. */
const lastCall = 30_000
/** More unknown outcomes make the search long. */
const maxUnknown = 8

type Random = (bound: number) => number

/** Whole numbers below a bound, the same for the same seed. */
const makeRandom = (seed: number): Random => {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ state >>> 15, state | 1)
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
    return ((mixed ^ mixed >>> 14) >>> 0) % bound
  }
}

const pick = <A>(values: ReadonlyArray<A>, random: Random): A | undefined => values[random(values.length)]

/** Mostly the newest, sometimes one of the two before it. */
const pickRecent = (values: ReadonlyArray<number>, random: Random): number | undefined =>
  values.at(-1 - Math.min(random(8) < 5 ? 0 : 1 + random(2), values.length - 1))

const isIssue = ({ kind }: Request): boolean => kind === "exchange" || kind === "refresh"

/** The next request of a caller, based on what all callers of the grant know. None: the history is long enough. */
const nextRequest = (recorder: Recorder, begun: ReadonlyArray<Request>, random: Random): Request | undefined => {
  const code = pickRecent(recorder.codes, random)
  const pair = pickRecent(recorder.pairs, random)
  if (code === undefined) return { kind: "consent" }
  const key = random(3) === 0 ? `"${random(2)}"` : undefined
  const choice = random(100)
  const mayIssue = begun.filter(isIssue).length < maxIssues
  const mayConsent = begun.filter(({ kind }) => kind === "consent").length < maxConsents
  const exchanged = begun.filter((request) => request.kind === "exchange" && request.code === code).length
  if (mayConsent && (choice < 8 || pair === undefined && exchanged > 1)) return { kind: "consent" }
  if (mayIssue && (choice < (exchanged > 0 ? 14 : 30) || pair === undefined)) return { kind: "exchange", code, key }
  if (pair === undefined) return undefined
  if (mayIssue && choice < 62) return { kind: "refresh", pair, key }
  return choice < 68 ? { kind: "revoke", pair, by: random(2) === 0 ? "access" : "refresh" } : { kind: "check", pair }
}

/** Waits for the end of a number of operations. */
const makeProgress = () => {
  const waiting = new Set<{ left: number; readonly resolve: () => void }>()
  const advance = () => {
    for (const one of waiting) {
      if (--one.left > 0) continue
      waiting.delete(one)
      one.resolve()
    }
  }
  const progress = (left: number) => new Promise<void>((resolve) => waiting.add({ left, resolve }))
  return { advance, progress }
}

const withoutComparing: Program = [
  "--import",
  "tsx",
  "--conditions=@startlist/source",
  fileURLToPath(new URL("./withoutComparing.ts", import.meta.url))
]

/** Number of operations of a counterexample that ends a run. After a longer one, the run looks for a shorter one. */
const shortLength = 6

/** Runs the installation and its callers, until the time is over or a short history is not explained. */
export const run = ({ minutes, nodes: nodeCount, onProgress, planted = 0, seed }: Options) =>
  Effect.gen(function*() {
    const programs = Array.from({ length: nodeCount }, (_, index) => index < planted ? withoutComparing : undefined)
    const installation = yield* makeInstallation(programs)
    return yield* Effect.promise(() => play(installation, minutes * 60_000, seed, onProgress))
  }).pipe(Effect.scoped)

const play = async (
  { cause, inProgress, nodes }: Installation,
  time: number,
  seed: number,
  onProgress: (report: Report) => void = () => {}
): Promise<Report> => {
  const random = makeRandom(seed)
  const { advance, progress } = makeProgress()
  const begin = performance.now()
  const counts = { explained: 0, undecided: 0, tooLong: 0, unknown: 0 }
  const operations = { consent: 0, exchange: 0, refresh: 0, revoke: 0, check: 0 }
  const caused = { kill: 0, pause: 0, sockets: 0, sessions: 0, database: 0 }
  let counterexample: Report["counterexample"]
  const isShort = () => counterexample !== undefined && counterexample.shrunk.length <= shortLength
  const isOver = () => isShort() || performance.now() - begin > time
  const report = (): Report => ({
    ...counts,
    operations,
    faults: caused,
    seconds: Math.round((performance.now() - begin) / 1000),
    ...counterexample === undefined ? {} : { counterexample }
  })

  const running = () =>
    nodes.flatMap(({ name, service }) => {
      const running = service()
      return running === undefined ? [] : [{ name, url: running.url, operatorToken: running.operatorToken }]
    })

  /** Waits for a node that runs. */
  const anyNode = async () => {
    for (;;) {
      const node = pick(running(), random)
      if (node !== undefined) return node
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Sends a request to nodes until one has answered as expected. None: the time is over. */
  const prepare = async <A>(ask: (node: Awaited<ReturnType<typeof anyNode>>) => Promise<A>): Promise<A | undefined> => {
    while (!isOver()) {
      const node = await anyNode()
      try {
        return await ask(node)
      } catch {
        advance()
      }
    }
    return undefined
  }

  const judge = (history: ReadonlyArray<Operation>) => {
    for (const { answer, request } of history) {
      operations[request.kind]++
      if (answer === undefined) counts.unknown++
    }
    const times = history.flatMap(({ called, returned }) => [called, returned])
    if (Math.max(...times) - Math.min(...times) > maxMillis) {
      counts.tooLong++
      return
    }
    const verdict = check(history)
    if (verdict !== "unexplained") {
      counts[verdict]++
      return
    }
    const shrunk = shrink(history)
    if (counterexample === undefined || shrunk.length < counterexample.shrunk.length) {
      counterexample = { shrunk, history }
    }
  }

  /** One grant from its first consent on. */
  const playGrant = async (recorder: Recorder) => {
    const end = performance.now() + lastCall
    const begun: Array<Request> = []
    const unknown = () => recorder.history.filter(({ answer }) => answer === undefined).length
    const call = async (caller: string, request: Request): Promise<void> => {
      begun.push(request)
      const operation = await recorder.call(caller, await anyNode(), request)
      advance()
      // Like a client, repeat the request.
      const isRepeated = operation !== undefined && operation.answer === undefined && random(2) === 0
      if (isRepeated && unknown() < maxUnknown && begun.filter(isIssue).length < maxIssues) await call(caller, request)
    }
    const isDone = () => performance.now() > end || unknown() >= maxUnknown
    const next = async (caller: string): Promise<boolean> => {
      const request = isDone() ? undefined : nextRequest(recorder, begun, random)
      if (request !== undefined) await call(caller, request)
      return request !== undefined
    }
    const use = async (caller: string) => {
      for (let count = 0; count < operationsPerCaller && await next(caller);) count++
    }
    while (recorder.pairs.length === 0 && !isOver() && await next("caller 1"));
    await Promise.all(Array.from({ length: callers }, (_, index) => use(`caller ${index + 1}`)))
  }

  const playLane = async () => {
    const user = await prepare((node) => createUser(node, "athlete"))
    const owner = await prepare((node) => createUser(node, "platform"))
    if (user === undefined || owner === undefined) return
    const signedIn = makeSignedIn(user, inProgress)
    while (!isOver()) {
      const client = await prepare((node) => createApplication(node, owner))
      if (client === undefined) return
      const recorder = makeRecorder(client, signedIn, inProgress)
      await playGrant(recorder)
      if (recorder.history.length > 0) judge(recorder.history)
      onProgress(report())
    }
  }

  /** One fault after the other, the restart of the database less often. */
  const disturb = async () => {
    while (!isOver()) {
      await progress(15 + random(60))
      const fault = random(12) === 0 ? "database" : pick(faults.slice(0, -1), random)
      const node = pick(nodes, random)
      if (fault === undefined || node === undefined) return
      const isCaused = await cause(fault, node, () => progress(3 + random(20))).catch(() => false)
      if (isCaused) caused[fault]++
    }
  }

  const disturbed = disturb()
  await Promise.all(Array.from({ length: lanes }, playLane))
  // Releases a fault that waits for operations.
  while (await Promise.race([disturbed.then(() => false), new Promise((resolve) => setTimeout(resolve, 20, true))])) {
    advance()
  }
  return report()
}

const table = (numbers: Readonly<Record<string, number>>): string =>
  Object.entries(numbers).map(([name, number]) => `${name} ${number}`).join(", ")

/** The numbers of a run, in one line. */
export const summary = ({ explained, faults, operations, seconds, tooLong, undecided, unknown }: Report): string =>
  `${seconds} s: ${explained} histories explained, ${undecided} undecided, ${tooLong} too long; operations: ${
    table(operations)
  }; unknown outcomes: ${unknown}; faults: ${table(faults)}`

/** A counterexample as text. */
export const explain = ({ history, shrunk }: NonNullable<Report["counterexample"]>): string =>
  `No order explains these ${shrunk.length} operations, whichever of the other ${
    history.length - shrunk.length
  } operations on the grant took effect:\n${describe(shrunk)}\n\nThe whole history:\n${describe(history)}`
