/** Tables and lists of facts. */
// The roles are there for browsers that drop them with `display: block`.
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role */
import { type ComponentChildren, Fragment } from "preact"

/** A row: the cells in the order of the columns. The first one names the row. */
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
 * A table. On a narrow screen each row is a list of its cells, each with the name of its column. The roles keep it a table
 * there, too: some browsers take a table that is displayed in another way for plain text.
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

/** Names and what they are. */
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
