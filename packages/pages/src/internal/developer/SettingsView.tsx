/** View of the settings of an application: its form, and its end. */
import * as Either from "effect/Either"
import { checkRedirectUris, type InvalidApplication, type Settings } from "@startlist/core/Application"
import type { Fields } from "@startlist/http/Authorization"
import { get, type Parameters } from "@startlist/http/Parameters"
import { Check, ErrorSummary, Field, Form, Lines } from "../Elements.tsx"
import { type Locale, textsIn } from "../Locale.ts"
import type { Texts } from "../English.ts"
import { type ApplicationContext, ApplicationLayout, pathOf } from "./Owner.tsx"

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

/** The values of the form for these settings, as a text to compare. */
export const shownIn = (settings: Settings): string =>
  JSON.stringify([
    settings.name,
    settings.redirectUris,
    settings.requirePkce,
    ...links.map(({ name }) => settings.links?.[name] ?? "")
  ])

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

const Ending = ({ context: { application, frame, signedIn }, endFields, wrongName }: {
  readonly context: ApplicationContext
  readonly endFields: Fields
  readonly wrongName: string | undefined
}) => {
  const { developer: { ending } } = textsIn(frame.locale)
  return (
    <section class="card">
      <h2>{ending.title}</h2>
      <p>{ending.explanation}</p>
      <details class="step" open={wrongName !== undefined}>
        <summary>{ending.open}</summary>
        <p>{ending.means}</p>
        <Form action={`${pathOf(frame, application)}/end`} csrf={signedIn.csrf} hidden={endFields}>
          <Field
            id="confirmed-name"
            name="name"
            label={ending.typeName(application.name)}
            required
            value={wrongName ?? ""}
            problem={wrongName === undefined ? undefined : ending.wrongName(application.name)}
          />
          <button type="submit" class="danger">{ending.now}</button>
        </Form>
      </details>
    </section>
  )
}

/** View of the settings. */
export const SettingsView = ({ context, endFields, problem, seen, values, wrongName }: {
  readonly context: ApplicationContext
  /** Names the stored settings from which the form was made. */
  readonly seen: string
  /** Hidden fields of the form that deletes the application. */
  readonly endFields: Fields
  /** The stored settings, or the typed ones that were refused because of `problem`. */
  readonly values: Settings
  readonly problem?: InvalidApplication
  /** The typed name if it is not that of the application, which was to be deleted. */
  readonly wrongName?: string
}) => {
  const { application, frame, signedIn } = context
  const { developer: { ending, settings } } = textsIn(frame.locale)
  return (
    <ApplicationLayout context={context} section="settings" isError={problem !== undefined || wrongName !== undefined}>
      {wrongName === undefined ? null : (
        <ErrorSummary
          id="not-deleted"
          title={ending.title}
          problems={[["confirmed-name", ending.wrongName(application.name)]]}
        />
      )}
      <SettingsProblem locale={frame.locale} values={values} problem={problem} />
      <section class="card">
        <h2>{settings.title}</h2>
        <Form action={pathOf(frame, application)} csrf={signedIn.csrf} hidden={[["seen", seen]]}>
          <SettingsFields locale={frame.locale} values={values} problem={problem} />
          <button type="submit">{settings.save}</button>
        </Form>
      </section>
      <Ending context={context} endFields={endFields} wrongName={wrongName} />
    </ApplicationLayout>
  )
}
