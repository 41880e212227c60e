/**
 * A program that takes the locks of folders at given times and keeps them: prints `ready`, reads the first time in
 * milliseconds, and prints the numbers of the folders that it has taken.
 */
import { Effect, Exit, Scope } from "effect"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import * as Folder from "../../src/Folder.ts"

const folders = process.argv.slice(2)

/** Time between two folders: each takes a shorter one. */
const interval = 80

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
console.log("ready")
const start = Number((await lines.next()).value)
const scope = await Effect.runPromise(Scope.make())
const taken: Array<number> = []
for (const [place, folder] of folders.entries()) {
  const at = start + place * interval
  await setTimeout(at - Date.now() - 5)
  while (performance.timeOrigin + performance.now() < at);
  const lock = Folder.lock(folder, () => "held")
  if (Exit.isSuccess(await Effect.runPromiseExit(Scope.extend(lock, scope)))) taken.push(place)
}
console.log(JSON.stringify(taken))
// Keeps the locks until the end of the input.
await lines.next()
process.exit()
