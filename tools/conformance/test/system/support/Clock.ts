/** The clock of a service process, which a test can move forward by a file. */
import { renameSync, writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"

export class Clock {
  private ahead = 0
  private readonly file: string

  constructor(file: string) {
    this.file = file
    this.write()
  }

  /** Environment of a process that uses this clock. */
  get environment(): Readonly<Record<string, string>> {
    const loaded = pathToFileURL(fileURLToPath(new URL("./clock.mjs", import.meta.url))).href
    return { CLOCK_FILE: this.file, NODE_OPTIONS: `--import=${loaded}` }
  }

  /** Moves the clock of the process forward by this number of seconds. */
  advance(seconds: number): void {
    this.ahead += seconds * 1000
    this.write()
  }

  /** Replaces the file in one step, so that no process reads a part of it. */
  private write(): void {
    writeFileSync(`${this.file}.next`, String(this.ahead))
    renameSync(`${this.file}.next`, this.file)
  }
}
