/** The fields of an application's settings: their form, their values and their problems. */
import * as Either from "effect/Either"
import { checkRedirectUris, type InvalidApplication, type Settings } from "@startlist/core/Application"
import { get, type Parameters } from "@startlist/http/Parameters"
import { Check, ErrorSummary, Field, Lines } from "../Form.tsx"
import { type Locale, messagesIn } from "../Locale.ts"
import type { Messages } from "../Messages.ts"

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
const redirectProblemOf = ({ developer: { settings } }: Messages, uris: ReadonlyArray<string>): string => {
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

const sentenceOf = (messages: Messages, { field }: InvalidApplication, { redirectUris }: Settings): string =>
  field === "redirect_uris"
    ? redirectProblemOf(messages, redirectUris)
    : field === "name" || field === "owner_id"
    ? messages.developer.settings.nameWrong
    : messages.developer.settings.linkWrong

export const SettingsProblem = ({ locale, problem, values }: Props) => {
  const messages = messagesIn(locale)
  return problem === undefined ? null : (
    <ErrorSummary
      id="problem"
      title={messages.developer.settings.problem}
      problems={[[problem.field, sentenceOf(messages, problem, values)]]}
    />
  )
}

export const SettingsFields = ({ locale, problem, values }: Props) => {
  const messages = messagesIn(locale)
  const { settings } = messages.developer
  const problemOf = (field: string) => problem?.field === field ? sentenceOf(messages, problem, values) : undefined
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
