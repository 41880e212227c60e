/** The checklist as a page. */
import { table } from "../support/GeneratedDocument.ts"
import { type Profile, profiles } from "../support/Sites.ts"
import type { Document, Requirement } from "./Requirement.ts"

/** The finding of a check in a profile, if there is one. */
export type Findings = (requirement: Requirement, profile: Profile) => Error | undefined

const cellOf = (requirement: Requirement, profile: Profile, findings: Findings): string => {
  const { status } = requirement
  switch (status._tag) {
    case "checked":
      return findings(requirement, profile) !== undefined
        ? "**fails**"
        : status.deviations[profile] === undefined
        ? "yes"
        : "**deviates**"
    case "not applicable":
      return "not applicable"
    case "elsewhere":
      return "not seen from here"
  }
}

/** The reason why a requirement is not met. */
const reasonOf = ({ status }: Requirement): string => {
  switch (status._tag) {
    case "checked":
      return [...new Set(profiles.flatMap((profile) => status.deviations[profile]?.reason ?? []))].join("; ")
    case "not applicable":
      return status.why
    case "elsewhere":
      return status.where
  }
}

const sectionOf = (section: string): string => /^(RFC|[A-Z])/.test(section) ? section : `§${section}`

const rowOf = (requirement: Requirement, findings: Findings): ReadonlyArray<string> => [
  sectionOf(requirement.section),
  requirement.level,
  requirement.says,
  ...profiles.map((profile) => cellOf(requirement, profile, findings)),
  reasonOf(requirement)
]

const cells = ["yes", "**deviates**", "**fails**", "not applicable", "not seen from here"]

const summary = (documents: ReadonlyArray<Document>, findings: Findings): string =>
  table(
    ["document", "profile", "met", "deviates", "fails", "not applicable", "not seen from here"],
    documents.flatMap((document) =>
      profiles.map((profile) => {
        const found = document.requirements.map((requirement) => cellOf(requirement, profile, findings))
        return [
          `${document.name}, ${document.title}`,
          `\`${profile}\``,
          ...cells.map((cell) => String(found.filter((other) => other === cell).length))
        ]
      })
    )
  )

export const write = (documents: ReadonlyArray<Document>, findings: Findings): string =>
  [
    "# Compliance",
    `This page is for you if you must know which RFCs the service meets. It lists the requirements on an authorization server and a resource server, in our
words, and what the service does. The service has two profiles (\`PROFILE\` in [configuration](../configuration.md)). \`documented\` is the default: it follows the documented
interface where an RFC differs. \`rfc\` is for strict clients.`,
    `Every line with _yes_ or _deviates_ is a test in \`tools/conformance/test\`. It sends requests to the service, as a process, over
HTTP, with more than one input for every line. Where the service deviates, this test must fail, and another test shows the actual behaviour.
So a new deviation makes a test fail, and a removed one too. \`npm run documents -w @startlist/conformance\` writes
this page from those tests. Requirements on clients are not listed. [The reference](../reference.md#where-the-interface-is-silent)
lists what applications see of the deviations.`,
    summary(documents, findings),
    ...documents.flatMap((document) => [
      `## ${document.name}: ${document.title}`,
      table(
        [
          "section",
          "level",
          "requirement",
          ...profiles.map((profile) => `\`${profile}\``),
          "reason, or who sees to it"
        ],
        document.requirements.map((requirement) => rowOf(requirement, findings))
      )
    ])
  ].join("\n\n") + "\n"
