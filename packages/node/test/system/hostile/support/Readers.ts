/** Starts `readersProcess.ts` as a process. */
import { eventually } from "@startlist/test-support/Eventually"
import { spawnStartlist, testProgram } from "@startlist/test-support/ServiceProcess"

export type Reader = "inbox" | "fake" | "sample"

export interface Measured {
  /** Bytes of memory before the first request. */
  readonly resting: number
  /** Most bytes of memory since the last measurement. */
  readonly peak: number
  /** Milliseconds of processor time since the last measurement. */
  readonly worked: number
}

export interface Readers {
  readonly ports: Readonly<Record<Reader, number>>
  readonly measure: () => Promise<Measured>
  readonly stderr: () => string
  readonly hasEnded: () => boolean
  readonly stop: () => void
}

export const startReaders = async (): Promise<Readers> => {
  const { child, stderr, stdout } = spawnStartlist([], {}, testProgram(new URL("./readersProcess.ts", import.meta.url)))
  const printed = await eventually(async () => stdout(), (text) => text.includes("\n") || child.exitCode !== null)
  if (printed === "") throw new Error(`the readers did not start: ${stderr()}`)
  const { measures, ...ports } = JSON.parse(printed)
  return {
    ports,
    measure: async () => (await fetch(`http://127.0.0.1:${measures}/`)).json(),
    stderr,
    hasEnded: () => child.exitCode !== null,
    stop: () => child.kill("SIGKILL")
  }
}
