/** View of the live secrets of one kind: number and end of each, and a form that ends a replaced one before its time. */
import * as Option from "effect/Option"
import type { Lifetime } from "@startlist/core/ApplicationSecret"
import { Alert, Form } from "../Form.tsx"
import { messagesIn } from "../Locale.ts"
import { Table } from "../Table.tsx"
import { Instant } from "../Time.tsx"
import type { ApplicationContext } from "./Owner.ts"

/** The number of the next secret. A form carries it, so that it replaces only the secrets that its sender has seen. */
export const nextOf = ([newest]: ReadonlyArray<Lifetime>): string => String((newest?.number ?? 0) + 1)

export const LiveSecrets = ({ action, context: { frame, signedIn }, isFull, secrets }: {
  readonly context: ApplicationContext
  /** The address of the forms: it replaces a secret, and `/end` after it ends one. */
  readonly action: string
  readonly secrets: ReadonlyArray<Lifetime>
  /** Whether a replacement was refused because there are as many as can be. */
  readonly isFull: boolean
}) => {
  const { developer: { secrets: words } } = messagesIn(frame.locale)
  return (
    <>
      {isFull
        ? (
          <Alert kind="bad">
            <p>{words.full(secrets.length)}</p>
          </Alert>
        )
        : null}
      <Table
        label={words.title}
        columns={[words.number, words.ends, words.action]}
        rows={secrets.map(({ expiresAt, number }) => ({
          key: number,
          cells: [
            number,
            ...Option.match(expiresAt, {
              onNone: () => [words.never, words.current],
              onSome: (until) => [
                <Instant at={until} locale={frame.locale} />,
                <Form action={`${action}/end`} csrf={signedIn.csrf} hidden={[["number", String(number)]]}>
                  <button type="submit" class="outline">{words.end(number)}</button>
                </Form>
              ]
            })
          ]
        }))}
      />
    </>
  )
}
