/** Changes of a request by hostile and broken clients. */
import { FastCheck } from "effect"
import { headerNames, headerValues, parameterNames, text } from "./Awkward.ts"
import { bodies, jsonValues } from "./AwkwardBodies.ts"
import type { Framing, Pairs, Sent } from "./Requests.ts"

type Place = "query" | "form" | "header"

/** One change. Numbers choose among what is there, modulo their count, so that every change fits every request. */
export type Mutation =
  | readonly ["method", string]
  | readonly ["path", string]
  | readonly ["drop", Place, number]
  | readonly ["repeat", Place, number]
  | readonly ["value", Place, number, string]
  | readonly ["name", Place, number, string]
  | readonly ["add", Place, string, string]
  | readonly ["flood", number]
  | readonly ["swap query and form"]
  | readonly ["json", number, unknown]
  | readonly ["body", string]
  | readonly ["tail", string]
  | readonly ["version", string]
  | readonly ["framing", Framing]

const changed = <A>(items: ReadonlyArray<A>, at: number, change: (item: A) => ReadonlyArray<A>): ReadonlyArray<A> => {
  const index = items.length === 0 ? 0 : at % items.length
  return items.flatMap((item, i) => i === index ? change(item) : [item])
}

const inPairs = (request: Sent, place: Place, change: (pairs: Pairs) => Pairs): Sent => {
  if (place === "query") return { ...request, query: change(request.query) }
  if (place === "header") return { ...request, headers: change(request.headers) }
  const fields = request.body._tag === "Form" ? request.body.fields : []
  return request.body._tag === "Json" || request.body._tag === "Raw"
    ? request
    : { ...request, body: { _tag: "Form", fields: change(fields) } }
}

/** Replaces the value number `at` of a tree, counted from its leaves. */
const inJson = (tree: unknown, at: number, value: unknown): unknown => {
  const paths: Array<ReadonlyArray<string>> = []
  const collect = (node: unknown, path: ReadonlyArray<string>): void => {
    if (typeof node === "object" && node !== null) {
      for (const [name, item] of Object.entries(node)) collect(item, [...path, name])
    }
    paths.push(path)
  }
  collect(tree, [])
  const replaced = (node: unknown, [name, ...rest]: ReadonlyArray<string>): unknown => {
    if (name === undefined) return value
    if (Array.isArray(node)) return node.map((item, i) => String(i) === name ? replaced(item, rest) : item)
    if (typeof node !== "object" || node === null) return value
    return Object.fromEntries(Object.entries(node).map(([n, item]) => [n, n === name ? replaced(item, rest) : item]))
  }
  return replaced(tree, paths[at % paths.length] ?? [])
}

const paths: Readonly<Record<string, (path: string) => string>> = {
  slash: (path) => `${path}/`,
  double: (path) => `/${path}`,
  segment: (path) => `${path}/x`,
  upper: (path) => path.toUpperCase(),
  encoded: (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  broken: (path) => `${path}%zz%`,
  nul: (path) => `${path}%00`,
  dots: (path) => `/x/..${path}`,
  climb: (path) => `${path}/%2e%2e/%2e%2e/etc/passwd`,
  absolute: (path) => `http://elsewhere.test${path}`,
  bare: () => "http://elsewhere.test",
  star: () => "*",
  empty: () => "",
  fragment: (path) => `${path}#x`,
  semicolon: (path) => `${path};v=1`,
  long: (path) => `${path}/${"x".repeat(7000)}`,
  huge: (path) => `${path}/${"x".repeat(20_000)}`,
  identifier: (path) => path.replace(/\{\{\w+\}\}/, "9007199254740993"),
  negative: (path) => path.replace(/\{\{\w+\}\}/, "-1"),
  word: (path) => path.replace(/\{\{\w+\}\}/, "constructor"),
  unicode: (path) => path.replace(/\{\{\w+\}\}/, "%F0%9F%98%80"),
  bytes: (path) => `${path}/\u00ff\u0000`,
  space: (path) => `${path} x`
}

/** Makes one change. */
export const mutate = (request: Sent, mutation: Mutation): Sent => {
  switch (mutation[0]) {
    case "method":
      return { ...request, method: mutation[1] }
    case "path":
      return { ...request, path: (paths[mutation[1]] ?? String)(request.path) }
    case "drop":
      return inPairs(request, mutation[1], (pairs) => changed(pairs, mutation[2], () => []))
    case "repeat":
      return inPairs(request, mutation[1], (pairs) => changed(pairs, mutation[2], (pair) => [pair, pair]))
    case "value":
      return inPairs(request, mutation[1], (pairs) => changed(pairs, mutation[2], ([name]) => [[name, mutation[3]]]))
    case "name":
      return inPairs(
        request,
        mutation[1],
        (pairs) => changed(pairs, mutation[2], ([, value]) => [[mutation[3], value]])
      )
    case "add":
      return inPairs(request, mutation[1], (pairs) => [...pairs, [mutation[2], mutation[3]]])
    case "flood":
      return {
        ...request,
        headers: [
          ...Array.from({ length: mutation[1] }, (_, i) => [`x-${i.toString(36)}`, ""] as const),
          ...request.headers
        ]
      }
    case "swap query and form":
      return request.body._tag === "Form" || request.body._tag === "None"
        ? {
          ...request,
          query: request.body._tag === "Form" ? request.body.fields : [],
          body: request.query.length === 0 ? { _tag: "None" } : { _tag: "Form", fields: request.query }
        }
        : request
    case "json":
      return request.body._tag === "Json"
        ? { ...request, body: { _tag: "Json", value: inJson(request.body.value, mutation[1], mutation[2]) } }
        : request
    case "body":
      return { ...request, body: { _tag: "Raw", text: mutation[1] } }
    case "tail":
      return { ...request, tail: mutation[1] }
    case "version":
      return { ...request, version: mutation[1] }
    case "framing":
      return { ...request, framing: mutation[1] }
  }
}

const { constant, constantFrom, nat, oneof, tuple } = FastCheck

const place = constantFrom<Place>("query", "form", "header")

const mutationOf = oneof(
  {
    weight: 2,
    arbitrary: tuple(
      constant("method" as const),
      constantFrom(
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "OPTIONS",
        "TRACE",
        "PROPFIND",
        "CONNECT",
        "get",
        "QUERY",
        "",
        "G\0T"
      )
    )
  },
  { weight: 3, arbitrary: tuple(constant("path" as const), constantFrom(...Object.keys(paths))) },
  { weight: 3, arbitrary: tuple(constant("drop" as const), place, nat(40)) },
  { weight: 2, arbitrary: tuple(constant("repeat" as const), place, nat(40)) },
  { weight: 5, arbitrary: tuple(constant("value" as const), constantFrom<Place>("query", "form"), nat(40), text) },
  { weight: 3, arbitrary: tuple(constant("value" as const), constant<Place>("header"), nat(40), headerValues) },
  { weight: 1, arbitrary: tuple(constant("name" as const), place, nat(40), parameterNames) },
  { weight: 3, arbitrary: tuple(constant("add" as const), constantFrom<Place>("query", "form"), parameterNames, text) },
  { weight: 3, arbitrary: tuple(constant("add" as const), constant<Place>("header"), headerNames, headerValues) },
  { weight: 1, arbitrary: tuple(constant("flood" as const), constantFrom(20, 80, 120, 1000, 3000)) },
  { weight: 1, arbitrary: tuple(constant("swap query and form" as const)) },
  { weight: 5, arbitrary: tuple(constant("json" as const), nat(40), jsonValues) },
  { weight: 2, arbitrary: tuple(constant("body" as const), bodies) },
  {
    weight: 1,
    arbitrary: tuple(
      constant("tail" as const),
      constantFrom(
        "&a",
        "&a=%zz",
        "&a=%ff",
        "&a=b=c",
        "&&&",
        "&a=\u00e9",
        "&a=b c",
        "#x",
        "?",
        "&x=" + "y".repeat(9000)
      )
    )
  },
  {
    weight: 1,
    arbitrary: tuple(
      constant("version" as const),
      constantFrom("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "http/1.1", "")
    )
  },
  {
    weight: 1,
    arbitrary: tuple(
      constant("framing" as const),
      constantFrom<Framing>("chunked", "storm", "none", "short", "long", "both", "bad chunk", "odd coding")
    )
  },
  { weight: 1, arbitrary: tuple(constant("framing" as const), constant<Framing>("chunked")) }
)

/** Any change. */
export const mutation: FastCheck.Arbitrary<Mutation> = mutationOf
