/** The one page of the application. */
import type { ComponentChildren } from "preact"
import type { Registration } from "../RaceOffice.ts"
import type { Settings } from "../Settings.ts"
import type { Notice, Section, State } from "../State.ts"
import { Athlete, Platform } from "./Connections.tsx"
import { Events } from "./Events.tsx"
import { RaceOffice } from "./RaceOffice.tsx"
import { Webhook } from "./Webhook.tsx"

export interface Shown {
  readonly settings: Settings
  readonly state: State
  /** The registration at the race office. Only in the demonstration. */
  readonly registration: Registration | undefined
}

/** The parts that update by themselves. */
export const live = ({ settings, state }: Pick<Shown, "settings" | "state">) => ({
  athlete: <Athlete settings={settings} state={state} />,
  platform: <Platform settings={settings} state={state} />,
  events: <Events state={state} />
})

const NoticeBox = ({ notice }: { readonly notice: Notice }) => (
  <div class={`notice ${notice.kind}`} role={notice.kind === "bad" ? "alert" : "status"} id="notice">
    <p>{notice.text}</p>
    {notice.answer === undefined ? null : <pre>{notice.answer}</pre>}
  </div>
)

const Part = ({ children, id, state: { notice }, title }: {
  readonly id: Section
  readonly title: string
  readonly state: State
  readonly children: ComponentChildren
}) => (
  <section id={id} aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    {notice?.at === id ? <NoticeBox notice={notice} /> : null}
    <div id={`${id}-live`}>{children}</div>
  </section>
)

const Accounts = ({ settings: { demonstration } }: Pick<Shown, "settings">) =>
  demonstration === undefined ? null : (
    <aside aria-labelledby="accounts-title">
      <h2 id="accounts-title">Accounts for trying it</h2>
      <ul>
        {demonstration.accounts.map(({ email, name, password, role }) => (
          <li key={email}>
            {name} ({role}): <code>{email}</code>, password <code>{password}</code>
          </li>
        ))}
      </ul>
      <p>
        One browser has one sign-in at the platform. Where the platform knows you as the other person, choose{" "}
        <q>Use another account</q> there.
      </p>
    </aside>
  )

export const Page = (shown: Shown) => {
  const { registration, settings, state } = shown
  const parts = live(shown)
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
          <Accounts settings={settings} />
          <div class="beside">
            <Part state={state} id="athlete" title="1. An athlete grants access">{parts.athlete}</Part>
            <Part state={state} id="platform" title="2. A platform user grants access">{parts.platform}</Part>
          </div>
          <Part state={state} id="webhook" title="3. The application subscribes to events">
            <Webhook settings={settings} state={state} />
          </Part>
          <div class={registration === undefined ? undefined : "beside"}>
            {registration === undefined ? null : (
              <Part state={state} id="office" title="4. The race office decides">
                <RaceOffice registration={registration} />
              </Part>
            )}
            <Part state={state} id="events" title={`${registration === undefined ? 4 : 5}. Events`}>
              {parts.events}
            </Part>
          </div>
        </main>
      </body>
    </html>
  )
}
