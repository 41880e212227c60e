/** Checks the RFCs as a checklist on a service process, in both profiles. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { documents } from "./compliance/Documents.ts"
import { issuer, Probe } from "./compliance/Probe.ts"
import type { Check, Document, Requirement } from "./compliance/Requirement.ts"
import { write } from "./compliance/Table.ts"
import { Clock } from "./support/Clock.ts"
import { expectDocument } from "./support/GeneratedDocument.ts"
import * as Sites from "./support/Sites.ts"

const folder = mkdtempSync(join(tmpdir(), "startlist-compliance-"))
const clocks: Readonly<Record<Sites.Profile, Clock>> = {
  documented: new Clock(join(folder, "documented")),
  rfc: new Clock(join(folder, "rfc"))
}
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Settings for a proxy on this machine, which terminates TLS and forwards client addresses. */
const environment = (_url: string, profile: Sites.Profile) => ({
  AUTH_URL: issuer,
  BASE_URL: issuer,
  TRUSTED_PROXIES: "127.0.0.0/8",
  ...clocks[profile].environment
})

const probes = new Map<Sites.Profile, Probe>()

const probeOf = (profile: Sites.Profile, service: Sites.Service): Probe => {
  const known = probes.get(profile) ?? new Probe(profile, service, clocks[profile])
  probes.set(profile, known)
  return known
}

/** The finding of a check: undefined, or the assertion that failed. Any other error is a bug of the check. */
const findingOf = async (check: Check, probe: Probe): Promise<Error | undefined> => {
  try {
    await check(probe)
    return undefined
  } catch (error) {
    if (error instanceof Error && error.name === "AssertionError") return error
    throw error
  }
}

/** Fails if a requirement that must hold does not, or if one that is listed as a deviation holds. */
const verify = async ({ status }: Requirement, probe: Probe): Promise<void> => {
  if (status._tag !== "checked") return
  const deviation = status.deviations[probe.profile]
  if (deviation === undefined) return prove(status.check, probe)
  expect(await findingOf(status.check, probe), "the requirement holds: this is no deviation any more").toBeDefined()
  await prove(deviation.instead, probe)
}

/** Runs a check, and again as another client if it has only one input. One input proves little. */
const prove = async (check: Check, probe: Probe): Promise<void> => {
  probe.forgetInputs()
  await check(probe)
  if (probe.countInputs() > 1) return
  probe.isDisguised = true
  await check(probe).finally(() => (probe.isDisguised = false))
  expect(probe.countInputs(), "the check has one input: add others of its kind").toBeGreaterThan(1)
}

/** Checks run on both profiles at the same time. Each test uses the result of one. */
const verdicts = new Map<Requirement, Readonly<Record<Sites.Profile, Promise<Error | undefined>>>>()

const verdictOf = (requirement: Requirement, profile: Sites.Profile, sites: Sites.Running) => {
  const ask = (profile: Sites.Profile) => caught(verify(requirement, probeOf(profile, sites[profile])))
  const known = verdicts.get(requirement) ?? { documented: ask("documented"), rfc: ask("rfc") }
  verdicts.set(requirement, known)
  return known[profile]
}

/** Turns a rejection into a value, so that it is not unhandled before a test reads it. */
const caught = (promise: Promise<void>): Promise<Error | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => error instanceof Error ? error : new Error(String(error))
  )

const titleOf = ({ name }: Document, { level, says, section }: Requirement): string =>
  `${name} §${section} ${level}: ${says}`

layer(Sites.layer(environment))("the RFCs", (it) => {
  for (const document of documents) {
    for (const requirement of document.requirements.filter(({ status }) => status._tag === "checked")) {
      for (const profile of Sites.profiles) {
        it.effect(`${titleOf(document, requirement)} (${profile})`, () =>
          Effect.gen(function*() {
            const sites = yield* Sites.Sites
            const error = yield* Effect.promise(() => verdictOf(requirement, profile, sites))
            if (error !== undefined) return yield* Effect.die(error)
          }))
      }
    }
  }

  it.effect("no requirement is listed twice", () =>
    Effect.sync(() => {
      const titles = documents.flatMap((document) =>
        document.requirements.map((requirement) => titleOf(document, requirement))
      )
      expect(titles).toEqual([...new Set(titles)])
    }))

  it.effect("docs/evidence/compliance.md says what was observed", () =>
    Effect.gen(function*() {
      const sites = yield* Sites.Sites
      const findings = new Map<Requirement, Partial<Record<Sites.Profile, Error | undefined>>>()
      for (const requirement of documents.flatMap(({ requirements }) => requirements)) {
        const documented = yield* Effect.promise(() => verdictOf(requirement, "documented", sites))
        const rfc = yield* Effect.promise(() => verdictOf(requirement, "rfc", sites))
        findings.set(requirement, { documented, rfc })
      }
      expectDocument(
        "compliance.md",
        write(documents, (requirement, profile) => findings.get(requirement)?.[profile])
      )
    }))
})
