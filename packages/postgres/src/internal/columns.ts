/** The columns of a prepared statement, which the database describes once. */
export interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** Reads a row from its texts. */
export const toRow = (columns: ReadonlyArray<Column>, texts: ReadonlyArray<string | null>): object => {
  const row: Record<string, unknown> = {}
  columns.forEach(({ name, parse }, index) => {
    const text = texts[index]
    row[name] = text === null || text === undefined ? null : parse(text)
  })
  return row
}
