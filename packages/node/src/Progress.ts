/** Progress of a long command: one line on the terminal. Prints nothing without a terminal. */

export interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly write: (text: string) => unknown
}

/** Replaces the line. An empty text removes it. */
export const show = (text: string, terminal: Terminal = process.stderr): void => {
  if (terminal.isTTY === true) terminal.write(`\r\u001B[2K${text}`)
}
