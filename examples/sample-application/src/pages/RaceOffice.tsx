/** The buttons of the race office: only in the demonstration. */
import type { Registration } from "../RaceOffice.ts"
import { Action } from "./Action.tsx"

export const RaceOffice = ({ registration }: { readonly registration: Registration }) => (
  <>
    <p>
      In reality this happens elsewhere: somebody at the race office looks at the athlete's{" "}
      {registration.document_type}. Race Planner hears of it only if the athlete has granted it access.
    </p>
    <dl>
      <dt>Registration</dt>
      <dd id="registration-status">{registration.registration_status}</dd>
      <dt>Document</dt>
      <dd>{registration.document_status}</dd>
    </dl>
    <div class="actions">
      <Action to="/office" label="Accept the document" fields={{ decision: "accept" }} />
      <Action to="/office" label="Refuse the document" fields={{ decision: "refuse" }} />
    </div>
  </>
)
