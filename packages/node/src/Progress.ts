/** How far long work is: one line on the terminal, rewritten in place, gone at the end. Silent for scripts. */

export interface Progress {
  /** One more is done. */
  readonly step: () => void
  /** Takes the line away. */
  readonly end: () => void
}

/** Where it is shown. */
export interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly write: (text: string) => unknown
}

/** Progress of `total` steps of work with this name. */
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
