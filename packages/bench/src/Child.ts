/** The other side of `Process`: what a started program says to the run. */

/** Says that the program is ready, and ends it with the run, however that ends: in order, so that a profile is written. */
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
