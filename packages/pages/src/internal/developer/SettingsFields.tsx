/** The fields of what an owner can change of an application, and how they are read and refused. */
import type { InvalidApplication, Settings } from "@startlist/core/Application"
import { get, type Parameters } from "@startlist/http/Parameters"
import { Check, ErrorSummary, Field, Lines } from "../Form.tsx"
import { type Locale, messagesIn } from "../Locale.ts"
import type { Messages } from "../Messages.ts"

/** The settings as they were typed. */
export const readSettings = (parameters: Parameters): Settings => ({
  name: get(parameters, "name")?.trim() ?? "",
  redirectUris: (get(parameters, "redirect_uris") ?? "").split(/\s+/).filter((uri) => uri !== ""),
  requirePkce: get(parameters, "require_pkce") === "true"
})

const sentenceOf = ({ developer: { settings } }: Messages, { field }: InvalidApplication): string =>
  field === "redirect_uris" ? settings.redirectUrisWrong : settings.nameWrong

interface Props {
  readonly locale: Locale
  readonly values: Settings
  readonly problem: InvalidApplication | undefined
}

export const SettingsProblem = ({ locale, problem }: Omit<Props, "values">) => {
  const messages = messagesIn(locale)
  return problem === undefined ? null : (
    <ErrorSummary
      id="problem"
      title={messages.developer.settings.problem}
      problems={[[problem.field, sentenceOf(messages, problem)]]}
    />
  )
}

export const SettingsFields = ({ locale, problem, values }: Props) => {
  const messages = messagesIn(locale)
  const { settings } = messages.developer
  const problemOf = (field: string) => problem?.field === field ? sentenceOf(messages, problem) : undefined
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
      <Check
        name="require_pkce"
        label={settings.requirePkce}
        hint={settings.requirePkceHint}
        checked={values.requirePkce}
      />
    </>
  )
}
