/** The reader of answers by itself: how bytes arrive does not matter, and no bytes break it. */
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { AnswerReader, UnreadableAnswer } from "../src/internal/AnswerReader.ts"

/** The first answer. The other bytes that come with its end belong to nothing. */
const firstOf = (seen: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = seen.findIndex((line) => line.endsWith(")"))
  return end < 0 ? seen : [...seen.slice(0, end), seen[end]?.replace(/ \(\w+\)$/, "") ?? ""]
}

type Piece = readonly [pieces: ReadonlyArray<Buffer>, ends: boolean]

/** Everything that the reader reports of these bytes, with pieces of bodies joined. */
const read = ([pieces, ends]: Piece): ReadonlyArray<string> => {
  const seen: Array<string> = []
  let body = ""
  const reader = new AnswerReader({
    onHead: ({ headers, status }) => seen.push(`${status} ${JSON.stringify([...headers])}`),
    onBody: (piece) => body += piece.toString("latin1"),
    onEnd: (keptMillis) => {
      seen.push(`${body} (${keptMillis})`)
      body = ""
    }
  })
  try {
    for (const piece of pieces) reader.read(piece)
    if (ends) reader.end()
  } catch (error) {
    if (!(error instanceof UnreadableAnswer)) throw error
    seen.push(error.code)
  }
  return seen
}

const bytes = (text: string): ReadonlyArray<Buffer> => [Buffer.from(text, "latin1")]
const oneByOne = (text: string): ReadonlyArray<Buffer> => [...text].map((byte) => Buffer.from(byte, "latin1"))

const token = FastCheck.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,12}$/)
const value = FastCheck.stringMatching(/^[!-~][ -~]{0,20}$/).map((text) => text.trim())
const content = FastCheck.string({ unit: "binary-ascii", maxLength: 40 })
const reserved = /^(?:content-length|transfer-encoding|connection|keep-alive|__proto__)$/i
const fields = FastCheck.array(FastCheck.tuple(token.filter((name) => !reserved.test(name)), value), { maxLength: 5 })
const head = (status: number, lines: ReadonlyArray<readonly [string, string]>) =>
  `HTTP/1.1 ${status} x\r\n${lines.map(([name, text]) => `${name}: ${text}\r\n`).join("")}`

/** A complete answer, and its body. */
const answer = FastCheck.record({
  status: FastCheck.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
  fields,
  interim: FastCheck.array(FastCheck.constantFrom(100, 102, 103, 150), { maxLength: 4 }),
  chunks: FastCheck.array(content.filter((text) => text !== ""), { maxLength: 4 }),
  framing: FastCheck.constantFrom("length", "chunks")
}).map(({ chunks, fields, framing, interim, status }) => {
  const before = interim.map((code) => `${head(code, fields)}\r\n`).join("")
  const body = chunks.join("")
  const chunked = chunks.map((chunk) => `${chunk.length.toString(16)};x=y\r\n${chunk}\r\n`).join("")
  const text = framing === "length"
    ? `${head(status, fields)}Content-Length: ${body.length}\r\n\r\n${body}`
    : `${head(status, fields)}Transfer-Encoding: chunked\r\n\r\n${chunked}0\r\nTrailer: x\r\n\r\n`
  return { status, body, text: before + text }
})

describe("the reader of answers", () => {
  it("reads answers on one connection, in pieces of any size", () => {
    FastCheck.assert(FastCheck.property(FastCheck.array(answer, { minLength: 1, maxLength: 3 }), (answers) => {
      const whole = read([answers.flatMap(({ text }) => bytes(text)), false])
      expect(whole.filter((_, place) => place % 2 === 1)).toEqual(answers.map(({ body }) => `${body} (Infinity)`))
      expect(whole.filter((_, place) => place % 2 === 0).map((line) => Number(line.slice(0, 3)))).toEqual(
        answers.map(({ status }) => status)
      )
      expect(read([answers.flatMap(({ text }) => oneByOne(text)), false])).toEqual(whole)
    }))
  })

  it("reads any bytes, in pieces of any size, or names the violation", () => {
    const part = FastCheck.oneof(
      FastCheck.constantFrom(
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200\r\n",
        "HTTP/1.1 100 \r\n",
        "HTTP/1.1 000 x\r\n",
        "HTTP/1.1 204 x\r\n",
        "\r\n",
        "\n",
        " folded\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Connection: close\r\n",
        "Keep-Alive: timeout=5, max=3\r\n",
        "3\r\nabc\r\n",
        "0\r\n",
        "fffffffffffff\r\n"
      ),
      FastCheck.string({ unit: "binary-ascii", maxLength: 6 })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(part, { maxLength: 12 }), FastCheck.boolean(), (parts, ends) => {
        const text = parts.join("")
        expect(firstOf(read([oneByOne(text), ends]))).toEqual(firstOf(read([bytes(text), ends])))
      }),
      { numRuns: 2000 }
    )
  })

  it.each(
    [
      ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Infinity],
      ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: max=9, timeout=5\r\n\r\n", 5000],
      ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", 0],
      ["HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", 0],
      ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", 0],
      ["HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Infinity]
    ] as const
  )("%j keeps the connection for %d ms", (text, kept) => {
    expect(read([bytes(text), false]).at(-1)).toBe(` (${kept})`)
  })

  it("joins the values of a field, also of a folded one", () => {
    expect(read([bytes("HTTP/1.1 200 OK\r\nA: 1\r\na:2 \r\n\t3\r\nContent-Length: 0\r\n\r\n"), false])[0])
      .toBe(`200 [["a","1, 2 3"],["content-length","0"]]`)
  })

  it("completes an answer without a length with the connection, and no other", () => {
    expect(read([bytes("HTTP/1.1 200 OK\r\n\r\nall"), true])).toEqual(["200 []", "all (0)"])
    expect(read([bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nall"), true]).at(-1)).toBe("incomplete")
  })
})
