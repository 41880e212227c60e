/**
 * Milliseconds after which a test takes what it waits for as hung. Far more than any wait takes, even on a machine that is
 * busy with much else: only a fault of the product or of the test lasts as long.
 */
export const patience = 180_000
