/** Changes of a request by hostile and broken clients. Numbers choose among what is there, modulo their count. */
import { FastCheck } from "effect"
import { headerNames, headerValues, parameterNames, text } from "./Awkward.ts"
import { bodies, jsonValues } from "./AwkwardBodies.ts"
import type { Framing, Pairs, Sent } from "./Requests.ts"

export type Change = (request: Sent) => Sent

export type Place = "query" | "form" | "header"

const inPairs = (place: Place, change: (pairs: Pairs) => Pairs): Change => (request) => {
  if (place === "query") return { ...request, query: change(request.query) }
  if (place === "header") return { ...request, headers: change(request.headers) }
  const fields = request.body._tag === "Form" ? request.body.fields : []
  return request.body._tag === "Json" || request.body._tag === "Raw"
    ? request
    : { ...request, body: { _tag: "Form", fields: change(fields) } }
}

/** Replaces the pair number `at`. */
const replacePair = (place: Place, at: number, change: (pair: Pairs[number]) => Pairs): Change =>
  inPairs(place, (pairs) => pairs.flatMap((pair, i) => i === at % pairs.length ? change(pair) : [pair]))

export const replaceValue = (place: Place, at: number, value: string): Change =>
  replacePair(place, at, ([name]) => [[name, value]])

export const add = (place: Place, name: string, value: string): Change =>
  inPairs(place, (pairs) => [...pairs, [name, value]])

/** Replaces the value number `at` of a tree, counted from its leaves. */
const inTree = (tree: unknown, at: number, value: unknown): unknown => {
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

export const replaceJson = (at: number, value: unknown): Change => (request) =>
  request.body._tag === "Json"
    ? { ...request, body: { _tag: "Json", value: inTree(request.body.value, at, value) } }
    : request

/** Swaps the query and the form. */
const swapped: Change = ({ body, query, ...request }) =>
  body._tag === "Form" || body._tag === "None"
    ? {
      ...request,
      query: body._tag === "Form" ? body.fields : [],
      body: query.length === 0 ? { _tag: "None" } : { _tag: "Form", fields: query }
    }
    : { ...request, body, query }

const identifier = /\{\{\w+\}\}/

const paths: ReadonlyArray<(path: string) => string> = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `${path}/x`,
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => `${path}%zz%`,
  (path) => `${path}%00`,
  (path) => `/x/..${path}`,
  (path) => `${path}/%2e%2e/%2e%2e/etc/passwd`,
  (path) => `http://elsewhere.test${path}`,
  () => "http://elsewhere.test",
  () => "*",
  () => "",
  (path) => `${path}#x`,
  (path) => `${path};v=1`,
  (path) => `${path}/${"x".repeat(7000)}`,
  (path) => `${path}/${"x".repeat(20_000)}`,
  (path) => path.replace(identifier, "9007199254740993"),
  (path) => path.replace(identifier, "-1"),
  (path) => path.replace(identifier, "constructor"),
  (path) => path.replace(identifier, "%F0%9F%98%80"),
  (path) => `${path}/\u00ff\u0000`,
  (path) => `${path} x`
]

const { constantFrom, nat, oneof, tuple } = FastCheck

const methods = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND CONNECT get QUERY".split(" ")
const versions = ["HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "http/1.1", ""]
const tails = ["&a", "&a=%zz", "&a=%ff", "&a=b=c", "&&&", "&a=\u00e9", "&a=b c", "#x", "?", `&x=${"y".repeat(9000)}`]
const framings: ReadonlyArray<Framing> = ["storm", "none", "short", "long", "both", "bad chunk", "odd coding"]

const place = constantFrom<Place>("query", "form", "header")
const parameter = constantFrom<Place>("query", "form")
const at = nat(40)

const flood = (count: number): Pairs => Array.from({ length: count }, (_, i) => [`x-${i.toString(36)}`, ""])

/** Any change. */
export const mutation: FastCheck.Arbitrary<Change> = oneof<Array<FastCheck.WeightedArbitrary<Change>>>(
  { weight: 2, arbitrary: constantFrom(...methods, "", "G\0T").map((method) => (request) => ({ ...request, method })) },
  {
    weight: 3,
    arbitrary: constantFrom(...paths).map((change) => (request) => ({ ...request, path: change(request.path) }))
  },
  { weight: 3, arbitrary: tuple(place, at).map(([place, at]) => replacePair(place, at, () => [])) },
  { weight: 2, arbitrary: tuple(place, at).map(([place, at]) => replacePair(place, at, (pair) => [pair, pair])) },
  { weight: 5, arbitrary: tuple(parameter, at, text).map((fields) => replaceValue(...fields)) },
  { weight: 3, arbitrary: tuple(at, headerValues).map(([at, value]) => replaceValue("header", at, value)) },
  {
    weight: 1,
    arbitrary: tuple(place, at, parameterNames)
      .map(([place, at, name]) => replacePair(place, at, ([, value]) => [[name, value]]))
  },
  { weight: 3, arbitrary: tuple(parameter, parameterNames, text).map((fields) => add(...fields)) },
  { weight: 3, arbitrary: tuple(headerNames, headerValues).map((fields) => add("header", ...fields)) },
  {
    weight: 1,
    arbitrary: constantFrom(20, 80, 120, 1000, 3000)
      .map((count) => inPairs("header", (pairs) => [...flood(count), ...pairs]))
  },
  { weight: 1, arbitrary: FastCheck.constant(swapped) },
  { weight: 5, arbitrary: tuple(at, jsonValues).map((fields) => replaceJson(...fields)) },
  { weight: 2, arbitrary: bodies.map((text) => (request) => ({ ...request, body: { _tag: "Raw", text } })) },
  { weight: 1, arbitrary: constantFrom(...tails).map((tail) => (request) => ({ ...request, tail })) },
  { weight: 1, arbitrary: constantFrom(...versions).map((version) => (request) => ({ ...request, version })) },
  {
    weight: 2,
    arbitrary: oneof(FastCheck.constant<Framing>("chunked"), constantFrom(...framings))
      .map((framing) => (request) => ({ ...request, framing }))
  }
)
