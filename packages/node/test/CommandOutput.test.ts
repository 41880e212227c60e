/** The output of every command, if the service sends characters that control a terminal or change the direction of text. */
import { expect, it } from "@effect/vitest"
import { Console, Effect, Fiber, Queue, Runtime, type Schema, SchemaAST } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { fileURLToPath } from "node:url"
import { runHere } from "@startlist/test-support/Commands"
import { run, type Tree, tree } from "../src/commands/CommandLine.ts"
import { document } from "../src/description/OpenApiDocument.ts"
import { groups, operationsOf } from "../src/operator/operations.ts"

const dangerous = "\u001b[2J\u009b31m\r\n\u0007\u202e\u2066\u2028\u{e0041}"

const source = fileURLToPath(new URL("../src/", import.meta.url))

const serving = (listener: RequestListener) =>
  Effect.gen(function*() {
    const server = createServer(listener)
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close().closeAllConnections())
    )
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
  })

/** Texts that a schema allows only as they are. */
const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (SchemaAST.isLiteral(ast)) return [ast.literal]
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(literalsOf)
  if (SchemaAST.isTupleType(ast)) return ast.rest.flatMap(({ type }) => literalsOf(type))
  return SchemaAST.isTypeLiteral(ast) ? ast.propertySignatures.flatMap(({ type }) => literalsOf(type)) : []
}

const endanger = (value: unknown, kept: ReadonlyArray<unknown>): unknown =>
  typeof value === "string"
    ? kept.includes(value) ? value : value + dangerous
    : Array.isArray(value)
    ? value.map((item) => endanger(item, kept))
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, endanger(item, kept)]))
    : value

/** The example of each operation's response in `openapi.json`, with dangerous texts. Pages have no next one. */
const answers = Object.values(groups).flatMap((group) =>
  operationsOf(group).map(([, { method, output, path, status }]) => {
    const media = JSON.parse(document()).paths[path][method.toLowerCase()].responses[status].content
    const { next: _, ...example } = media?.["application/json"].example ?? {}
    const kept = literalsOf(SchemaAST.encodedAST((output satisfies Schema.Schema.AnyNoContext).ast))
    const expression = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "\\d+")}$`)
    return { method, expression, status, body: status === 204 ? "" : JSON.stringify(endanger(example, kept)) }
  })
)

const namesOf = ({ children }: Tree, names: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  children.length === 0 ? [names] : children.flatMap((child) => namesOf(child, [...names, child.name]))

/** Values for the arguments and options that a command requires. */
const required: Readonly<Record<string, ReadonlyArray<string>>> = {
  "application create": ["--name", "One", "--owner-email", "a@b.test"],
  "application end-secret": ["1", "2"],
  "application limit": ["1", "--remove"],
  "audit list": ["--all"],
  "delivery cancel": ["--application", "1"],
  "delivery redeliver": ["1"],
  "registration create": ["--athlete", "1"],
  "user create": ["--role", "club", "--email", "a@b.test", "--password", "correct horse"],
  "user find": ["--email", "a@b.test"],
  "user revoke": ["1", "--all"]
}

it.scoped("every command of the operator API makes these characters visible", () =>
  Effect.gen(function*() {
    const url = yield* serving(({ method, url = "" }, response) => {
      const [path = ""] = url.split("?")
      const answer = answers.find((one) => one.method === method && one.expression.test(path))
      response.writeHead(answer?.status ?? 500, { "content-type": "application/json" }).end(answer?.body)
    })
    const seen = new Set<string>()
    for (
      const names of namesOf(tree).filter(([name = ""]) =>
        /^(?:application|audit|delivery|registration|subscription|user)$/.test(name)
      )
    ) {
      const name = names.join(" ")
      const given = required[name] ?? (/ (?:list|export)$/.test(name) && name !== "user export" ? [] : ["1"])
      for (const json of name === "audit export" ? [[]] : [[], ["--json"]]) {
        const { code, stderr, stdout } = yield* Effect.promise(() =>
          runHere([...names, ...given, ...json, "--url", url, "--token", "t"])
        )
        expect([name, code, stderr]).toEqual([name, 0, ""])
        expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
        if (stdout.includes("\\u202e")) seen.add(name)
      }
    }
    // The others show no text of the service, or only texts of a fixed set.
    expect(seen.size).toBeGreaterThan(20)
  }))

it.scoped("listen makes these characters visible", () =>
  Effect.gen(function*() {
    const event = { aspect_type: dangerous, object_type: `registration${dangerous}`, object_id: 1 }
    const page = {
      events: [{ cursor: `c${dangerous}`, sequence: 1, webhook_id: `evt${dangerous}`, event }],
      next: `n${dangerous}`
    }
    const url = yield* serving((_, response) => response.end(JSON.stringify(page)))
    const lines = yield* Queue.unbounded<string>()
    const runSync = Runtime.runSync(yield* Effect.runtime<never>())
    const log = (...parts: ReadonlyArray<unknown>) => void runSync(Queue.offer(lines, parts.join(" ")))
    const console = yield* Console.consoleWith(Effect.succeed)
    const args = ["--forward-to", `${url}/`, "--url", url, "--token", "t", "--from-start"]
    const listening = yield* Effect.fork(
      Effect.withConsole(run(["node", "startlist", "listen", ...args]), {
        ...console,
        log: (...parts) => Effect.sync(() => log(...parts)),
        unsafe: { ...console.unsafe, log }
      })
    )
    const first = yield* Queue.take(lines)
    const second = yield* Queue.take(lines)
    yield* Fiber.interrupt(listening)
    const all = [first, second, ...(yield* Queue.takeAll(lines))]
    expect(all.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(second).toContain("evt\\u001b")
    expect(all.at(-1)).toContain("\\u202e")
  }))

it("only the module of the terminal prints", () => {
  const printing = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((name) =>
      name.endsWith(".ts") && /Console\.log|console\.log|stdout\.write/.test(readFileSync(source + name, "utf8"))
    )
  // The second one prints the help, which is this program's own text.
  expect(printing.sort()).toEqual(["commands/CommandLine.ts", "commands/Terminal.ts"])
})
