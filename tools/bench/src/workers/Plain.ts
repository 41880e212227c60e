/**
 * The same statement with `pg` alone: one caller, one connection, prepared, for a single row. Arguments: the database;
 * `rotation` or `bearer`.
 */
import * as Pg from "pg"
import * as Child from "../Child.ts"
import * as Grants from "../Grants.ts"
import { type Effort, makeStopwatch } from "../Measurement.ts"

const [, , url = "", what = ""] = process.argv
const client = new Pg.Client({ connectionString: url })
await client.connect()

const run = async (name: string, text: string, values: ReadonlyArray<unknown>): Promise<void> => {
  const { rowCount } = await client.query({ name, text, values: [...values] })
  if (rowCount !== 1) throw new Error(`${name} answered ${rowCount} rows`)
}

let version = 1
const rotation = Grants.rotation((name) =>
  ({ user: "$1", version: "$2", access: "$3::text", refresh: "$4::text" })[name]
)
const rotate = async (): Promise<void> => {
  const next = version + 1
  await run("rotation", rotation, [1, version, Grants.accessOf(1, next), Grants.hashOf("r", 1, next)])
  version = next
}

const findGrant = Grants.find("$1::bigint")
const find = (): Promise<void> => run("find", findGrant, [1 + Math.floor(Math.random() * Grants.usual)])

Child.answer(async (effort: Effort) => {
  const { ended, result } = makeStopwatch(effort)
  for (let more = true; more;) {
    const began = performance.now()
    await (what === "rotation" ? rotate() : find())
    more = ended(began)
  }
  return result()
})
Child.ready({})
