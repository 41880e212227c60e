/** Elements of pages: tables, facts, times, scopes, sentences with an element; forms, their fields, and the notes about them. */
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

/** A form with the method POST, the token of the session and hidden fields. */
export const Form = ({ action, children, csrf, hidden = [] }: {
  readonly action: string
  readonly csrf: string
  readonly hidden?: ReadonlyArray<readonly [name: string, value: string]>
  readonly children: ComponentChildren
}) => (
  <form method="post" action={action}>
    {hidden.map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
    <input type="hidden" name="csrf" value={csrf} />
    {children}
  </form>
)

interface FieldProps {
  readonly name: string
  /** Default: the name. */
  readonly id?: string
  readonly label: string
  readonly hint?: string
  /** The problem of its value. */
  readonly problem?: string | undefined
  /** Identifier of the error summary that names the problem. */
  readonly summary?: string | undefined
}

const describedBy = ({ hint, name, id = name, problem, summary }: FieldProps): string | undefined =>
  [
    ...(summary === undefined ? [] : [summary]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
    ...(hint === undefined ? [] : [`${id}-hint`])
  ].join(" ") || undefined

const Notes = ({ hint, name, id = name, problem }: FieldProps) => (
  <>
    {problem === undefined ? null : <small id={`${id}-problem`} class="wrong">{problem}</small>}
    {hint === undefined ? null : <small id={`${id}-hint`}>{hint}</small>}
  </>
)

interface InputAttributes {
  readonly id: string
  readonly name: string
  readonly autocomplete: string
  readonly required: boolean
  readonly maxLength: number | undefined
  readonly value: string | undefined
  readonly "aria-invalid": "true" | undefined
  readonly "aria-describedby": string | undefined
}

/** One element for each type of input, because JSX types differ. */
const inputs = {
  text: (attributes: InputAttributes) => <input type="text" {...attributes} />,
  "datetime-local": (attributes: InputAttributes) => <input type="datetime-local" {...attributes} />,
  email: (attributes: InputAttributes) => <input type="email" {...attributes} />,
  password: (attributes: InputAttributes) => <input type="password" {...attributes} />
}

interface InputProps extends FieldProps {
  readonly type?: keyof typeof inputs
  /** Default: `off`. */
  readonly autocomplete?: string
  readonly required?: boolean
  readonly maxLength?: number
  readonly value?: string
}

/** An input of one line. */
export const Field = (
  { autocomplete = "off", maxLength, required = false, type = "text", value, ...notes }: InputProps
) => (
  <div class="field">
    <label for={notes.id ?? notes.name}>{notes.label}</label>
    {inputs[type]({
      id: notes.id ?? notes.name,
      name: notes.name,
      autocomplete,
      required,
      maxLength,
      value,
      "aria-invalid": notes.problem === undefined && notes.summary === undefined ? undefined : "true",
      "aria-describedby": describedBy(notes)
    })}
    <Notes {...notes} />
  </div>
)

/** An input of several lines. */
export const Lines = ({ value, ...notes }: FieldProps & { readonly value: string }) => (
  <div class="field">
    <label for={notes.name}>{notes.label}</label>
    <textarea
      id={notes.name}
      name={notes.name}
      rows={3}
      spellcheck={false}
      aria-invalid={notes.problem === undefined ? undefined : "true"}
      aria-describedby={describedBy(notes)}
    >
      {value}
    </textarea>
    <Notes {...notes} />
  </div>
)

/** A checkbox. Its value is `true`. */
export const Check = ({ checked = false, hint, label, name }: FieldProps & { readonly checked?: boolean }) => (
  <div class="field">
    <label class="check" for={name}>
      <input
        id={name}
        name={name}
        type="checkbox"
        value="true"
        checked={checked}
        aria-describedby={hint === undefined ? undefined : `${name}-hint`}
      />
      <span>{label}</span>
    </label>
    {hint === undefined ? null : <small id={`${name}-hint`}>{hint}</small>}
  </div>
)

/** A value with a button to copy it. */
export const Copyable = ({ id, label, value }: {
  readonly id: string
  readonly label: string
  readonly value: string
}) => (
  <div class="field">
    <label for={id}>{label}</label>
    <textarea
      id={id}
      class="secret"
      readonly
      rows={1}
      autocomplete="off"
      spellcheck={false}
      data-copy={label}
    >
      {value}
    </textarea>
  </div>
)

/** A short value in a text, such as an identifier. The script of the pages adds a button to copy it. */
export const Value = ({ children, name }: { readonly name: string; readonly children: ComponentChildren }) => (
  <code data-copy={name}>{children}</code>
)

/** An alert. Screen readers read it immediately, and it is the first stop of the keyboard. */
export const Alert = ({ children, id, kind }: {
  readonly id?: string
  readonly kind: "bad" | "wait" | "good"
  readonly children: ComponentChildren
}) => (
  <div id={id} class={`alert ${kind}`} role={kind === "good" ? "status" : "alert"} tabindex={-1} autofocus>
    {children}
  </div>
)

/** The problems of a form, each with a link to its field. */
export const ErrorSummary = ({ id, problems, title }: {
  readonly id: string
  readonly title: string
  readonly problems: ReadonlyArray<readonly [field: string | undefined, problem: string]>
}) => (
  <Alert id={id} kind="bad">
    <p>
      <strong>{title}</strong>
    </p>
    {problems.map(([field, problem]) => (
      <p key={problem}>{field === undefined ? problem : <a href={`#${field}`}>{problem}</a>}</p>
    ))}
  </Alert>
)
