/** The order of test files for vitest: the slowest files start first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The slowest files of the tiers, slowest first. By default, vitest starts with the largest file. */
const longest = [
  "system/packing/Packages",
  "system/guides/Guides",
  "system/Compliance",
  "system/browser/EveryPage",
  "model/test/system/faults",
  "postgres/test/system/laws",
  "system/OperatorsDay",
  "system/Outage",
  "delivery/RandomKills",
  "system/CommandLine",
  "own-store/test/system/withoutRunner",
  "hostile/Fuzz",
  "guides/Integrating",
  "delivery/SetAside",
  "node/test/system/Process",
  "model/test/system/simulation",
  "system/Observability",
  "system/Doctor",
  "histories/Histories",
  "node/test/system/CrashEmbedded",
  "node/test/system/Crash",
  "postgres/test/Postgres",
  "postgres/test/EmbeddedLaws",
  "testing/test/storeLaws",
  "core/test/Worker",
  "node/test/OpenApi",
  "postgres/test/Embedded",
  "node/test/Accounts",
  "node/test/PersonalData"
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
