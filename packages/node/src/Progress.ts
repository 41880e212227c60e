/** Progress of a long command: one line on the terminal, removed at the end. Prints nothing without a terminal. */

export interface Progress {
  /** Counts one more step. */
  readonly step: () => void
  /** Removes the line. */
  readonly end: () => void
}

export interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly write: (text: string) => unknown
}

/** Starts the progress of `total` steps. */
export const make = (name: string, total: number, terminal: Terminal = process.stderr): Progress => {
  let done = 0
  const show = (text: string): void => {
    if (terminal.isTTY === true) terminal.write(`\r\u001B[2K${text}`)
  }
  const line = (): void => show(`${name} ${done} of ${total}`)
  line()
  return {
    step: () => {
      done++
      line()
    },
    end: () => show("")
  }
}
