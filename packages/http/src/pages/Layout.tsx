/** The frame of every page. */
import type { ComponentChildren } from "preact"
import * as Option from "effect/Option"
import { write } from "../Parameters.ts"
import type { Visitor } from "../Visitors.ts"
import { type Locale, locales, messagesIn } from "./Locale.ts"

/** What a page needs to know besides what it shows. */
export interface Frame {
  readonly locale: Locale
  /** Path and query to which the language switch comes back. */
  readonly here: string
  readonly visitor: Option.Option<Visitor>
  readonly signOutUrl: string
}

export const Layout = ({ children, frame, title }: {
  readonly frame: Frame
  readonly title: string
  readonly children: ComponentChildren
}) => {
  const { layout } = messagesIn(frame.locale)
  return (
    <html lang={frame.locale}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · Startlist`}</title>
      </head>
      <body>
        <header>
          <p>Startlist</p>
          {Option.isSome(frame.visitor) ? <Account visitor={frame.visitor.value} frame={frame} /> : null}
        </header>
        <main>
          <h1>{title}</h1>
          {children}
        </main>
        <footer>
          <nav aria-label={layout.languages}>
            <ul>
              {locales.map((locale) => (
                <li key={locale}>
                  <a href={languageUrl(locale, frame.here)} lang={locale} hreflang={locale}>
                    {messagesIn(locale).language}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        </footer>
      </body>
    </html>
  )
}

/** The switch remembers the choice and comes back; a `locale` of the present address would be stronger than it. */
const languageUrl = (locale: Locale, here: string): string =>
  `/language?${write([["locale", locale], ["return_to", here.replace(/([?&]locale=)[^&]*/, `$1${locale}`)]])}`

const Account = ({ frame, visitor }: { readonly frame: Frame; readonly visitor: Visitor }) => {
  const { layout } = messagesIn(frame.locale)
  return (
    <nav>
      <p>{layout.signedInAs(visitor.user.email, visitor.user.role)}</p>
      <a href="/account/applications">{layout.applications}</a>
      <SignOut frame={frame} csrf={visitor.csrf} label={layout.signOut} returnTo="/account/applications" />
    </nav>
  )
}

/** The form that ends the session and goes on to `returnTo`. */
export const SignOut = ({ csrf, frame, label, returnTo }: {
  readonly frame: Frame
  readonly csrf: string
  readonly label: string
  readonly returnTo: string
}) => (
  <form method="post" action={frame.signOutUrl}>
    <input type="hidden" name="csrf" value={csrf} />
    <input type="hidden" name="return_to" value={returnTo} />
    <button type="submit">{label}</button>
  </form>
)
