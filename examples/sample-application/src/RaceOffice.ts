/**
 * Only in the demonstration: the people at the race office, who look at the documents of a registration in the
 * platform's own software. An application has no operator token, and no part in this.
 */
import type { Settings } from "./Settings.ts"

export interface Registration {
  readonly registration_status: string
  readonly document_type: string
  readonly document_status: string
}

export type Decision = "accept" | "refuse"

const updates = {
  accept: { registration_status: "validated", document_status: "accepted", reasons: [], comment: "" },
  refuse: {
    registration_status: "incomplete",
    document_status: "refused",
    reasons: ["the signature is missing"],
    comment: "Please send the page with the doctor's signature."
  }
} as const

export interface RaceOffice {
  readonly look: () => Promise<Registration>
  /** Validates or refuses the document. Returns whether the status changed. */
  readonly decide: (decision: Decision) => Promise<boolean>
}

export const make = ({ demonstration, startlistUrl }: Settings): RaceOffice | undefined => {
  if (demonstration === undefined) return undefined
  const { operatorToken, registrationId } = demonstration
  const operate = async (method: string, body?: unknown): Promise<Registration> => {
    const response = await fetch(`${startlistUrl}/operator/v1/registrations/${registrationId}`, {
      method,
      headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000)
    })
    if (response.status !== 200) throw new Error(`the operator API answered with status ${response.status}`)
    return await response.json()
  }
  const look = () => operate("GET")
  return {
    look,
    decide: async (decision) => {
      const before = await look()
      const after = await operate("PATCH", updates[decision])
      return before.registration_status !== after.registration_status
    }
  }
}
