/** The order of test files for vitest: the slowest files start first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Files that take over 40 seconds, slowest first. By default, vitest starts with the largest file. */
const longest = [
  "system/packing/Packages",
  "node/test/system/Crash",
  "node/test/system/CrashEmbedded",
  "system/Process",
  "delivery/SetAside",
  "system/browser/EveryPage",
  "system/guides/Guides",
  "delivery/WorkerDeath",
  "testing/test/system/storeFaults",
  "testing/test/system/simulation",
  "system/Compliance",
  "system/OperatorsDay",
  "delivery/RandomKills",
  "node/test/system/Outage",
  "hostile/Fuzz",
  "guides/Integrating",
  "system/CommandLine",
  "postgres/test/Embedded",
  "core/test/Worker",
  "node/test/Accounts"
]

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = longest.findIndex((name) => moduleId.endsWith(`${name}.test.ts`))
  return rank === -1 ? longest.length : rank
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => rankOf(a) - rankOf(b))
  }
}
