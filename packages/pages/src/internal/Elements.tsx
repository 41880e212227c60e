/** Small elements of pages: tables, facts, times, scopes, and sentences with an element. */
// Some browsers drop the roles of tables with `display: block`.
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role */
import { type ComponentChildren, Fragment } from "preact"
import * as DateTime from "effect/DateTime"
import type { Scope } from "@startlist/core/Token"
import { type Locale, textsIn } from "./Locale.ts"

/** A row: its cells in the order of the columns. The first cell names the row. */
export interface Row {
  readonly key: string | number
  readonly cells: ReadonlyArray<ComponentChildren>
}

const Cell = ({ children, column, isName }: {
  readonly column: string | undefined
  readonly isName: boolean
  readonly children: ComponentChildren
}) => {
  const content = <div>{children}</div>
  return isName
    ? <th scope="row" role="rowheader" data-column={column}>{content}</th>
    : <td role="cell" data-column={column}>{content}</td>
}

/**
 * A table. On a narrow screen, each row is a list of cells with the names of their columns. The roles are explicit
 * because some browsers drop them there.
 */
export const Table = ({ columns, label, rows }: {
  readonly label: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<Row>
}) => (
  <table role="table" aria-label={label}>
    <thead role="rowgroup">
      <tr role="row">
        {columns.map((column) => <th key={column} scope="col" role="columnheader">{column}</th>)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {rows.map(({ cells, key }) => (
        <tr key={key} role="row">
          {cells.map((cell, place) => <Cell key={place} column={columns[place]} isName={place === 0}>{cell}</Cell>)}
        </tr>
      ))}
    </tbody>
  </table>
)

/** A list of names and values. */
export const Facts = (
  { facts }: { readonly facts: ReadonlyArray<readonly [name: string, value: ComponentChildren]> }
) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </Fragment>
    ))}
  </dl>
)

interface InstantProps {
  readonly at: DateTime.Utc
  readonly locale: Locale
}

/** Date and time, in UTC. The script of the pages shows it in the reader's own time zone. */
export const Instant = ({ at, locale }: InstantProps) => (
  <time datetime={DateTime.formatIso(at)} data-show="time">{textsIn(locale).dateTime(at.epochMillis)}</time>
)

/** The date alone, in the same way. */
export const Day = ({ at, locale }: InstantProps) => (
  <time datetime={DateTime.formatIso(at)} data-show="date">{textsIn(locale).date(at.epochMillis)}</time>
)

/** Scopes that one sentence describes. Two that do the same are not described twice. */
const together = [
  { name: "read+write", parts: ["read", "write"] },
  { name: "profile:read+write", parts: ["profile:read", "profile:write"] }
]

const summarized = (scope: Scope): ReadonlyArray<string> =>
  together.reduce<ReadonlyArray<string>>((names, { name, parts }) => {
    const isWhole = names.includes(name) || parts.every((part) => names.includes(part))
    return isWhole ? [...new Set(names.map((one) => parts.includes(one) ? name : one))] : names
  }, scope)

/** Scopes in words. */
export const Scopes = ({ locale, scope }: { readonly locale: Locale; readonly scope: Scope }) => (
  <ul>
    {summarized(scope).map((name) => <li key={name}>{textsIn(locale).scope(name) ?? <code>{name}</code>}</li>)}
  </ul>
)

/** A private character of Unicode, which no sentence contains. */
const mark = "\uE000"

/** The sentence `say` of a catalogue with the element `about` in it. */
export const Sentence = ({ about, say }: {
  readonly say: (value: string) => string
  readonly about: ComponentChildren
}) => {
  const [before, after] = say(mark).split(mark)
  return <>{before}{about}{after}</>
}
