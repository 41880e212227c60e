/**
 * `npm run bench [-- NAME]`: each benchmark beside its limit, alternating in one run. Read the ratios: the figures
 * depend on the machine, and a busy one blurs both.
 */
import * as Contender from "./Contender.ts"
import * as Load from "./Load.ts"
import * as Start from "./Start.ts"

interface Benchmark {
  readonly name: string
  readonly about: string
  /** The first one is the limit. */
  readonly contenders: ReadonlyArray<string>
  readonly conversations: (ready: Contender.Ready) => ReadonlyArray<Load.Conversation>
}

const refreshPattern = /"refresh_token":"([^"]+)"/

const benchmarks: ReadonlyArray<Benchmark> = [
  {
    name: "refresh",
    about: "token refresh: form in, JSON out",
    contenders: ["Raw", "InMemory", "Embedded"],
    conversations: ({ clientId, clientSecret, refreshTokens }) =>
      refreshTokens.map((first) => (lastBody) => {
        const token = refreshPattern.exec(lastBody)?.[1] ?? first
        return {
          head: "POST /oauth/token HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded\r\n",
          body: `grant_type=refresh_token&client_id=${clientId}&client_secret=${clientSecret}&refresh_token=${token}`
        }
      })
  },
  {
    name: "bearer",
    about: "bearer check of GET /api/v1/athlete",
    contenders: ["Raw", "InMemory", "Embedded"],
    conversations: ({ accessToken, refreshTokens }) =>
      refreshTokens.map(() => () => ({
        head: `GET /api/v1/athlete HTTP/1.1\r\nauthorization: Bearer ${accessToken}\r\n`,
        body: ""
      }))
  }
]

const rounds = 5
const seconds = 3

const median = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** A fresh server for every round, so that none profits from what another has left. */
const measure = async ({ about, contenders, conversations, name }: Benchmark): Promise<void> => {
  const results = new Map<string, Array<number>>(contenders.map((contender) => [contender, []]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const { ready, stop } = await Contender.start(contender)
      results.get(contender)?.push(await Load.run({ port: ready.port, seconds, conversations: conversations(ready) }))
      stop()
    }
  }
  const limit = median(results.get(contenders[0] ?? "") ?? [])
  console.log(`\n${name}: ${about}, ${Contender.connections} connections, median of ${rounds}`)
  for (const [contender, rates] of results) {
    const rate = median(rates)
    console.log(
      `  ${contender.padEnd(12)} ${String(Math.round(rate)).padStart(8)}/s  ${(rate / limit).toFixed(2)} of the limit`
    )
  }
}

const runs: ReadonlyArray<readonly [name: string, run: () => Promise<void>]> = [
  ...benchmarks.map((benchmark) => [benchmark.name, () => measure(benchmark)] as const),
  ["start", () => Start.measure(3)]
]

const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !runs.some(([known]) => known === name))
if (unknown === undefined) {
  for (const [name, run] of runs) if (wanted.length === 0 || wanted.includes(name)) await run()
} else {
  console.error(`no benchmark is called ${unknown}; there are ${runs.map(([name]) => name).join(", ")}`)
  process.exitCode = 1
}
