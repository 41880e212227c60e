/** The other side of `Process`: messages of a started program to the run. */

/** Reports that the program is ready, and ends it normally with the run, so that it writes its profile. */
export const ready = (said: object): void => {
  process.once("disconnect", () => process.exit())
  process.once("SIGTERM", () => process.exit())
  process.send?.({ said })
}

/** Answers questions. */
export const answer = <Question>(answerTo: (question: Question) => Promise<object>): void => {
  process.on("message", (question: Question) => {
    answerTo(question).then(
      (said) => process.send?.({ said }),
      (error: unknown) => process.send?.({ failed: error instanceof Error ? error.stack : String(error) })
    )
  })
}
