/** All planted faults. */
import { answerFaults } from "./answerFaults.ts"
import { coreFaults } from "./coreFaults.ts"
import type { Fault } from "./Fault.ts"
import { keyFaults } from "./keyFaults.ts"
import { raceFaults } from "./raceFaults.ts"
import { systemFaults } from "./systemFaults.ts"
import { tornFaults } from "./tornFaults.ts"
import { valueFaults } from "./valueFaults.ts"

export const faults: ReadonlyArray<Fault> = [
  ...coreFaults,
  ...tornFaults,
  ...raceFaults,
  ...answerFaults,
  ...valueFaults,
  ...keyFaults,
  ...systemFaults
]
