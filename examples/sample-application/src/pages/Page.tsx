/** The one page of the application. */
import type { ComponentChildren } from "preact"
import type { Registration } from "../RaceOffice.ts"
import type { Settings } from "../Settings.ts"
import type { State } from "../State.ts"
import { Athlete, Platform } from "./Connections.tsx"
import { Events } from "./Events.tsx"
import { RaceOffice } from "./RaceOffice.tsx"
import { Webhook } from "./Webhook.tsx"

export interface Shown {
  readonly settings: Settings
  readonly state: State
  /** As the race office has it; only in the demonstration. */
  readonly registration: Registration | undefined
}

/** What is inside the sections that change by themselves, by the section's id. */
export const live = ({ settings, state }: Pick<Shown, "settings" | "state">) => ({
  athlete: <Athlete settings={settings} state={state} />,
  platform: <Platform settings={settings} state={state} />,
  events: <Events state={state} />
})

const Section = ({ children, id, title }: {
  readonly id: string
  readonly title: string
  readonly children: ComponentChildren
}) => (
  <section aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    <div id={id}>{children}</div>
  </section>
)

const Notice = ({ state: { notice } }: Pick<Shown, "state">) =>
  notice === undefined ?
    null :
    (
      <div class={`notice ${notice.kind}`} role={notice.kind === "bad" ? "alert" : "status"} id="notice">
        <p>{notice.text}</p>
        {notice.answer === undefined ? null : <pre>{notice.answer}</pre>}
      </div>
    )

const Accounts = ({ settings: { demonstration } }: Pick<Shown, "settings">) =>
  demonstration === undefined ? null : (
    <aside aria-labelledby="accounts-title">
      <h2 id="accounts-title">Accounts for trying it</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Who</th>
            <th scope="col">Role</th>
            <th scope="col">E-mail</th>
            <th scope="col">Password</th>
          </tr>
        </thead>
        <tbody>
          {demonstration.accounts.map(({ email, name, password, role }) => (
            <tr key={email}>
              <th scope="row">{name}</th>
              <td>{role}</td>
              <td>
                <code>{email}</code>
              </td>
              <td>
                <code>{password}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        One browser has one sign-in at the platform. Where the platform knows you as the other person, choose{" "}
        <q>Use another account</q> there.
      </p>
    </aside>
  )

export const Page = (shown: Shown) => {
  const { settings, state } = shown
  const sections = live(shown)
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Race Planner · a sample application</title>
        <link rel="stylesheet" href="/style.css" />
        <link rel="icon" href="data:," />
        <script src="/live.js" defer></script>
      </head>
      <body>
        <header>
          <h1>Race Planner</h1>
          <p>
            A sample application. It knows nothing of the registration platform at{" "}
            <a href={settings.startlistUrl} target="_blank" rel="noopener">{settings.startlistUrl}</a>{" "}
            but what it is granted and told.
          </p>
        </header>
        <main>
          <Notice state={state} />
          <Accounts settings={settings} />
          <Section id="athlete" title="1. An athlete grants access">{sections.athlete}</Section>
          <Section id="platform" title="2. The application's owner grants access">{sections.platform}</Section>
          <Section id="webhook" title="3. The application subscribes to events">
            <Webhook settings={settings} state={state} />
          </Section>
          {shown.registration === undefined ? null : (
            <Section id="office" title="4. The race office decides">
              <RaceOffice registration={shown.registration} />
            </Section>
          )}
          <Section id="events" title={`${settings.demonstration === undefined ? 4 : 5}. Events`}>
            {sections.events}
          </Section>
        </main>
      </body>
    </html>
  )
}
