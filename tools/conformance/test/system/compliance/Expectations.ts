/** Expectations that several checks share. */
import { expect } from "@effect/vitest"
import { type Answer, type Client, locationOf, type Page, type Probe } from "./Probe.ts"

/** An error of RFC 6749 §5.2. */
export const expectError = (answer: Answer, status: number, code: string): void => {
  expect({ status: answer.status, error: answer.body["error"] }).toEqual({ status, error: code })
}

/** Expects a redirect with an error to the requested address. */
export const expectRedirectedError = (page: Page, redirectUri: string, code: string): URL => {
  const location = locationOf(page)
  expect(location.href.startsWith(redirectUri), `${location.href} is not at ${redirectUri}`).toBe(true)
  expect(location.searchParams.get("error")).toBe(code)
  expect(location.searchParams.has("code")).toBe(false)
  return location
}

/** Expects an error page without a redirect. */
export const expectShown = (page: Page): void => {
  expect(page.status).toBe(400)
  expect(page.headers.get("location")).toBeNull()
  expect(page.headers.get("content-type")).toMatch(/^text\/html/)
}

/** Expects an error page for each of these redirect URIs. */
export const expectRefusedRedirects = async (
  probe: Probe,
  client: Client,
  uris: ReadonlyArray<string>
): Promise<void> => {
  for (const redirect_uri of uris) {
    const page = await probe.ask(client, { redirect_uri })
    expect(page.headers.get("location"), redirect_uri).toBeNull()
    expect(page.status, redirect_uri).toBe(400)
  }
}

/** The printable ASCII without quotation mark and backslash that RFC 6749 §5.2 and RFC 6750 §3 allow. */
export const plainText = /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/

/** Expects that caches must not store an answer with tokens or secrets. */
export const expectUncached = ({ headers }: { readonly headers: Headers }): void => {
  expect(headers.get("cache-control")).toMatch(/\bno-store\b/)
}

/**
 * Looks for at least 160 unforeseeable bits: what all samples have in common does not count, and the rest must be
 * base64url in which no character keeps its place and about half of the bits are set.
 */
export const expectUnguessable = (samples: ReadonlyArray<string>): void => {
  expect(new Set(samples).size).toBe(samples.length)
  const [first = ""] = samples
  let label = first
  while (!samples.every((sample) => sample.startsWith(label))) label = label.slice(0, -1)
  const parts = samples.map((sample) => Buffer.from(sample.slice(label.length), "base64url"))
  const size = Math.min(...parts.map((part) => part.length))
  expect(size * 8).toBeGreaterThanOrEqual(160)
  for (let i = 0; i < size; i++) expect(new Set(parts.map((part) => part[i])).size).toBeGreaterThan(samples.length / 2)
  const bits = parts.flatMap((part) => [...part]).map((byte) => byte.toString(2).replaceAll("0", "").length)
  const share = bits.reduce((sum, ones) => sum + ones, 0) / (bits.length * 8)
  // 16 samples of 256 bits: half of them are set within 0.05 but for one run in 10^9.
  expect(Math.abs(share - 0.5)).toBeLessThan(0.05)
}
