/** Merges the metrics of several processes. */

const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/

interface Family {
  readonly head: ReadonlyArray<string>
  readonly samples: Array<string>
}

/** Merges pages of Prometheus text. Each sample gets the label `process`, the name of its process. */
export const merge = (pages: ReadonlyArray<{ readonly process: string; readonly body: string }>): string => {
  const families = new Map<string, Family>()
  for (const { body, process } of pages) {
    let family: Family | undefined
    for (const text of body.split(/^(?=# HELP )/m)) {
      const lines = text.split("\n").filter((line) => line !== "")
      const [, name = ""] = /^# HELP (\S+)/.exec(text) ?? []
      family = families.get(name) ?? { head: lines.filter((line) => line.startsWith("#")), samples: [] }
      families.set(name, family)
      for (const line of lines) {
        const [, metric, labels, value] = sample.exec(line) ?? []
        if (metric === undefined) continue
        family.samples.push(`${metric}{process="${process}"${labels === undefined ? "" : `,${labels}`}} ${value}`)
      }
    }
  }
  return [...families.values()].flatMap(({ head, samples }) => [...head, ...samples, ""]).join("\n")
}
