/** Views of the list of a platform user's applications, and of the form for a new one with its settings. */
import * as Either from "effect/Either"
import {
  type Application,
  checkRedirectUris,
  type InvalidApplication,
  type Settings
} from "@startlist/core/Application"
import { get, type Parameters } from "@startlist/http/Parameters"
import { Alert, Check, ErrorSummary, Field, Form, Lines } from "../Form.tsx"
import { type Locale, textsIn } from "../Locale.ts"
import type { Texts } from "../Texts.ts"
import { Layout } from "../Layout.tsx"
import { Day, Table } from "../Elements.tsx"
import { home, type OwnerContext, pathOf } from "./Owner.tsx"

/** The addresses that users see before they allow the application. */
const links = [
  { name: "website", field: "website" },
  { name: "privacyPolicy", field: "privacy_policy" },
  { name: "logo", field: "logo" }
] as const

/** The settings as they were typed. */
export const readSettings = (parameters: Parameters): Settings => ({
  name: get(parameters, "name")?.trim() ?? "",
  redirectUris: (get(parameters, "redirect_uris") ?? "").split(/\s+/).filter((uri) => uri !== ""),
  requirePkce: get(parameters, "require_pkce") === "true",
  links: Object.fromEntries(links.map(({ field, name }) => [name, get(parameters, field)?.trim() ?? ""]))
})

/** The problem of the redirect URIs. Their lines are numbered as in the form, beginning with 1. */
const redirectProblemOf = ({ developer: { settings } }: Texts, uris: ReadonlyArray<string>): string => {
  const repeated = uris.findIndex((uri, place) => uris.indexOf(uri) < place)
  if (repeated >= 0) return settings.redirectUrisRepeated(repeated + 1, uris.indexOf(uris[repeated] ?? "") + 1)
  const wrong = uris.flatMap((uri, place) => Either.isLeft(checkRedirectUris([uri])) ? [place + 1] : [])
  return wrong.length > 0 ? settings.redirectUrisWrong(wrong) : settings.redirectUrisTooMany(uris.length)
}

interface Props {
  readonly locale: Locale
  readonly values: Settings
  readonly problem: InvalidApplication | undefined
}

const sentenceOf = (texts: Texts, { field }: InvalidApplication, { redirectUris }: Settings): string =>
  field === "redirect_uris"
    ? redirectProblemOf(texts, redirectUris)
    : field === "name" || field === "owner_id"
    ? texts.developer.settings.nameWrong
    : texts.developer.settings.linkWrong

/** The summary of a problem with the settings. */
export const SettingsProblem = ({ locale, problem, values }: Props) => {
  const texts = textsIn(locale)
  return problem === undefined ? null : (
    <ErrorSummary
      id="problem"
      title={texts.developer.settings.problem}
      problems={[[problem.field, sentenceOf(texts, problem, values)]]}
    />
  )
}

/** The fields of the settings. */
export const SettingsFields = ({ locale, problem, values }: Props) => {
  const texts = textsIn(locale)
  const { settings } = texts.developer
  const problemOf = (field: string) => problem?.field === field ? sentenceOf(texts, problem, values) : undefined
  return (
    <>
      <Field
        name="name"
        label={settings.name}
        hint={settings.nameHint}
        required
        maxLength={100}
        autocomplete="off"
        value={values.name}
        problem={problemOf("name")}
      />
      <Lines
        name="redirect_uris"
        label={settings.redirectUris}
        hint={settings.redirectUrisHint}
        value={values.redirectUris.join("\n")}
        problem={problemOf("redirect_uris")}
      />
      {links.map(({ field, name }) => (
        <Field
          key={field}
          name={field}
          label={settings[name]}
          hint={settings.linkHint}
          maxLength={255}
          autocomplete="off"
          value={values.links?.[name] ?? ""}
          problem={problemOf(field)}
        />
      ))}
      <Check
        name="require_pkce"
        label={settings.requirePkce}
        hint={settings.requirePkceHint}
        checked={values.requirePkce}
      />
    </>
  )
}

/** A refused form, which is shown again. */
export interface Refused {
  readonly values: Settings
  readonly problem: InvalidApplication | undefined
}

const blank: Settings = { name: "", redirectUris: [], requirePkce: false }

/** View of the applications, and of the form for a new one. */
export const ApplicationsView = ({ applications, formKey, more, refused, context: { frame, signedIn } }: {
  readonly context: OwnerContext
  readonly applications: ReadonlyArray<Application>
  /** Whether there are older ones. */
  readonly more: boolean
  /** The key of the form. */
  readonly formKey: string
  readonly refused?: Refused
}) => {
  const { applications: list, registering } = textsIn(frame.locale).developer
  const oldest = applications.at(-1)
  return (
    <Layout frame={frame} title={list.title} isError={refused !== undefined}>
      {refused === undefined ? null : refused.problem === undefined
        ? (
          <Alert kind="wait">
            <p>{registering.outdated}</p>
          </Alert>
        )
        : <SettingsProblem locale={frame.locale} values={refused.values} problem={refused.problem} />}
      <p class="lead">{list.explanation}</p>
      <section class="card">
        {applications.length === 0 ?
          <p>{list.none}</p> :
          (
            <Table
              label={list.title}
              columns={[list.name, list.clientId, list.created]}
              rows={applications.map((application) => ({
                key: application.id,
                cells: [
                  <a href={pathOf(frame, application)}>{application.name}</a>,
                  application.id,
                  <Day at={application.createdAt} locale={frame.locale} />
                ]
              }))}
            />
          )}
        {more && oldest !== undefined ? <a href={`${frame.base}${home}?after=${oldest.id}`}>{list.more}</a> : null}
      </section>
      <section class="card">
        <h2>{registering.title}</h2>
        <Form action={frame.base + home} csrf={signedIn.csrf} hidden={[["key", formKey]]}>
          <SettingsFields locale={frame.locale} values={refused?.values ?? blank} problem={refused?.problem} />
          <button type="submit">{registering.submit}</button>
        </Form>
      </section>
    </Layout>
  )
}
