/** `/docs`: the groups of the API, and `/docs/{group}`: the operations of one. Made of the OpenAPI document. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Facts, Table } from "./Elements.tsx"
import * as ErrorPage from "./ErrorPage.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"
import { type Answer, commonErrors, type Field, type Group, groupsOf, type Operation } from "./reference.ts"
import * as SharedRoutes from "./SharedRoutes.ts"

interface Props {
  readonly frame: Page.Frame
  readonly groups: ReadonlyArray<Group>
}

const titleOf = ({ name }: Group): string => name === "oauth" ? "OAuth" : name.charAt(0).toUpperCase() + name.slice(1)

const Groups = ({ current, frame, groups }: Props & { readonly current: string }) => (
  <nav aria-label={Locale.textsIn(frame.locale).reference.groups}>
    <ul class="tabs">
      {groups.map((group) => (
        <li key={group.name}>
          <a href={`${frame.base}/docs/${group.name}`} aria-current={group.name === current ? "page" : undefined}>
            {titleOf(group)}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

const Answers = ({ answers, frame, label }: {
  readonly frame: Page.Frame
  readonly label: string
  readonly answers: ReadonlyArray<Answer>
}) => {
  const { reference } = Locale.textsIn(frame.locale)
  return (
    <Table
      label={label}
      columns={[reference.status, reference.meaning]}
      rows={answers.map(({ description, status }) => ({
        key: `${status} ${description}`,
        cells: [<code key={0}>{status}</code>, <span key={1} lang="en">{description}</span>]
      }))}
    />
  )
}

const Overview = ({ frame, groups }: Props) => {
  const { reference, welcome } = Locale.textsIn(frame.locale)
  return (
    <Layout frame={frame} title={welcome.reference}>
      <p>
        {reference.what} <a href={`${frame.base}/openapi.json`}>OpenAPI</a>,{" "}
        <a href={`${frame.base}/asyncapi.json`}>AsyncAPI</a>.
      </p>
      <section class="card">
        <h2>{reference.credentials}</h2>
        <Facts
          facts={[
            [reference.credential.client, reference.withBasic],
            [reference.credential.accessToken, <code key={0}>Authorization: Bearer ACCESS_TOKEN</code>],
            [reference.credential.operatorToken, <code key={0}>Authorization: Bearer OPERATOR_TOKEN</code>]
          ]}
        />
      </section>
      {groups.map((group) => (
        <section class="card" key={group.name}>
          <h2>
            <a href={`${frame.base}/docs/${group.name}`}>{titleOf(group)}</a>
          </h2>
          {group.description === "" ? null : <p lang="en">{group.description}</p>}
          <ul lang="en">
            {group.operations.map(({ id, method, path, summary }) => (
              <li key={id}>
                <a href={`${frame.base}/docs/${group.name}#${id}`}>{summary}</a> <code>{method} {path}</code>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <section class="card" id="common-errors">
        <h2>{reference.commonErrors}</h2>
        <Answers frame={frame} label={reference.commonErrors} answers={commonErrors(groups)} />
      </section>
    </Layout>
  )
}

const FieldTable = ({ fields, frame, label }: {
  readonly frame: Page.Frame
  readonly label: string
  readonly fields: ReadonlyArray<Field>
}) => {
  const { reference } = Locale.textsIn(frame.locale)
  return (
    <Table
      label={label}
      columns={[reference.name, reference.type, reference.description]}
      rows={fields.map(({ description, isRequired, name, place, type }, index) => ({
        key: index,
        cells: [
          <code key={0}>{name}</code>,
          <>
            {type}
            <br />
            <small class="muted">
              {reference.place[place]}
              {isRequired ? `, ${reference.required}` : ""}
            </small>
          </>,
          <span key={2} lang="en">{description}</span>
        ]
      }))}
    />
  )
}

const OneOperation = ({ common, frame, operation }: {
  readonly frame: Page.Frame
  readonly common: ReadonlySet<string>
  readonly operation: Operation
}) => {
  const { reference } = Locale.textsIn(frame.locale)
  const { answerFields, answers, credentials, description, example, fields, id, method, path, summary } = operation
  const own = answers.filter(({ description, status }) => !common.has(`${status} ${description}`))
  const success = answers.find(({ example, status }) => status.startsWith("2") && example !== "")
  const kinds = (["client", "accessToken", "operatorToken"] as const).filter((kind) => credentials.includes(kind))
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id} lang="en">{summary}</h2>
      <p>
        <code>{method} {path}</code>
      </p>
      <p lang="en">{description}</p>
      {kinds.length === 0
        ? null
        : <p class="muted">{kinds.map((kind) => reference.credential[kind]).join(", ")}</p>}
      {fields.length === 0
        ? null
        : <FieldTable frame={frame} label={`${reference.fields}: ${summary}`} fields={fields} />}
      {example === "" ? null : <pre><code>{example}</code></pre>}
      <Answers frame={frame} label={`${reference.answers}: ${summary}`} answers={own} />
      {success === undefined
        ? null
        : (
          <details class="step">
            <summary>{reference.exampleAnswer}</summary>
            <pre><code>{success.example}</code></pre>
            {answerFields.length === 0
              ? null
              : <FieldTable frame={frame} label={`${reference.answers}: ${summary}, 200`} fields={answerFields} />}
          </details>
        )}
    </section>
  )
}

const OneGroup = ({ frame, group, groups }: Props & { readonly group: Group }) => {
  const { reference } = Locale.textsIn(frame.locale)
  const common = new Set(commonErrors(groups).map(({ description, status }) => `${status} ${description}`))
  return (
    <Layout frame={frame} title={`${Locale.textsIn(frame.locale).welcome.reference}: ${titleOf(group)}`}>
      <Groups frame={frame} groups={groups} current={group.name} />
      {group.description === "" ? null : <p lang="en">{group.description}</p>}
      <p>
        <a href={`${frame.base}/docs`}>{reference.overview}</a>,{" "}
        <a href={`${frame.base}/docs#common-errors`}>{reference.commonErrors}</a>
      </p>
      {group.operations.map((operation) => (
        <OneOperation key={operation.id} frame={frame} common={common} operation={operation} />
      ))}
    </Layout>
  )
}

interface Rendered {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly tag: string
}

const rendered = (page: string): Effect.Effect<Rendered> => {
  const bytes = new TextEncoder().encode(page)
  return Effect.map(Effect.promise(() => crypto.subtle.digest("SHA-256", bytes)), (digest) => ({
    bytes,
    tag: SharedRoutes.entityTag(
      [...new Uint8Array(digest, 0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
    )
  }))
}

/**
 * `/docs` and `/docs/{group}`, without scripts. `document` is an OpenAPI document, in JSON text, whose texts are English. Each
 * page is rendered once per language, and all responses share its bytes.
 */
export const make = (document: Effect.Effect<string>): Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> =>
  Effect.gen(function*() {
    const config = yield* HttpConfig
    const base = basePath(config)
    const frameOf = yield* Page.makeFrame
    const { refuse } = yield* ErrorPage.make
    const pages = new Map<string, Rendered>()
    // `Effect.cached` would also remember that a request was interrupted.
    let known: ReadonlyArray<Group> | undefined
    const groups = Effect.suspend(() =>
      known === undefined
        ? Effect.map(document, (text) => known = groupsOf(text, config.authUrl))
        : Effect.succeed(known)
    )

    const render = (locale: Locale.Locale, name: string, all: ReadonlyArray<Group>) => {
      const here = `${base}/docs${name === "" ? "" : `/${name}`}`
      const frame = frameOf({ locale, here, signedIn: Option.none(), signOutUrl: `${base}/logout` })
      const group = all.find((one) => one.name === name)
      return rendered(Page.render(
        group === undefined
          ? <Overview frame={frame} groups={all} />
          : <OneGroup frame={frame} groups={all} group={group} />
      ))
    }

    const serve: Endpoint = (request, [name = ""]) =>
      Effect.gen(function*() {
        const all = yield* groups
        if (name !== "" && !all.some((group) => group.name === name)) return yield* new NotFound()
        const locale = Locale.of(request)
        const key = `${locale} ${name}`
        const page = pages.get(key) ?? (yield* render(locale, name, all))
        pages.set(key, page)
        // Browsers store the page and validate it each time: 304 if nothing has changed.
        const headers = { "cache-control": "no-cache", etag: page.tag, vary: "Accept-Language, Cookie" }
        return SharedRoutes.hasTag(request, page.tag)
          ? Page.html(304, "", { headers })
          : Page.html(200, page.bytes, { headers })
      })

    return ["/docs", "/docs/{group}"].map((path) => ({ path, methods: { GET: serve }, refuse }))
  })
