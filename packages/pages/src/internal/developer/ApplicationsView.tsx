/** View of the list of a platform user's applications, and of the form for a new one. */
import type { Application, InvalidApplication, Settings } from "@startlist/core/Application"
import { Alert, Form } from "../Form.tsx"
import { textsIn } from "../Locale.ts"
import { Layout } from "../Layout.tsx"
import { Day, Table } from "../Elements.tsx"
import { home, type OwnerContext, pathOf } from "./Owner.tsx"
import { SettingsFields, SettingsProblem } from "./SettingsView.tsx"

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
          (
            <>
              <p>
                <strong>{list.none}</strong>
              </p>
              <ol>
                {list.steps.map((step) => <li key={step}>{step}</li>)}
              </ol>
              {frame.brand.guide === undefined ? null : (
                <p>
                  <a href={frame.brand.guide}>{list.guide}</a>
                </p>
              )}
            </>
          ) :
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
