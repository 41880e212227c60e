/** The table of planted faults in `docs/evidence/faults.md`. */
import type { Fault, FoundBy } from "./Fault.ts"
import { isInCore } from "./Fault.ts"

const names: Readonly<Record<keyof FoundBy, string>> = {
  storeLaws: "store laws",
  rules: "tests of rules",
  programs: "programs",
  simulation: "simulation"
}

export const suitesOf = ({ foundBy }: Fault): ReadonlyArray<string> =>
  Object.entries(names).flatMap(([suite, name]) => suite in foundBy ? [name] : [])

/** Markdown with aligned columns. */
export const table = (faults: ReadonlyArray<Fault>): string => {
  const rows = faults.map((fault) => [
    fault.name,
    fault.kind,
    isInCore(fault) ? `\`${fault.plant.file}\`` : "stores",
    suitesOf(fault).join(", ")
  ])
  const header = ["fault", "kind", "planted in", "found by"]
  const widths = header.map((name, place) => Math.max(name.length, ...rows.map((row) => row[place]?.length ?? 0)))
  const line = (row: ReadonlyArray<string>) =>
    `| ${row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join(" | ")} |`
  const rule = line(widths.map((width) => "-".repeat(width)))
  return `# Planted faults

This page lists the mistakes that the tests must find. \`npm run mutants -- --table\` writes it from the list in
\`tools/model/test/faults\`.

- \`npm run mutants\` plants all of them, one after the other, and runs the tests that must find each.
- \`npm run faults\` plants those of stores, and shows the first law that each breaks. \`--postgres\` does so on PostgreSQL.

${[line(header), rule, ...rows.map(line)].join("\n")}
`
}
