/** Tables and lists of facts. */
import { type ComponentChildren, Fragment } from "preact"

/** Something wide: on a narrow screen it scrolls by itself, by keyboard too. */
export const Scroll = ({ children, label }: { readonly label: string; readonly children: ComponentChildren }) => (
  // The keyboard can only scroll what it can reach.
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  <section class="scroll" aria-label={label} tabindex={0}>{children}</section>
)

/** A table with these columns; the first cell of each row is a `<th scope="row">`. */
export const Table = ({ children, columns, label }: {
  readonly label: string
  readonly columns: ReadonlyArray<string>
  readonly children: ComponentChildren
}) => (
  <Scroll label={label}>
    <table>
      <thead>
        <tr>{columns.map((column) => <th key={column} scope="col">{column}</th>)}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scroll>
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
