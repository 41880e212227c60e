/** The frame of every page. */
import type { ComponentChildren } from "preact"
import * as Option from "effect/Option"
import { script } from "./assetFiles.ts"
import { write } from "@startlist/http/Parameters"
import type { SignedIn } from "../Authentication.ts"
import { Alert, Form } from "./Elements.tsx"
import type { Frame } from "./Page.ts"
import { type Locale, locales, textsIn } from "./Locale.ts"

/** Targets of the link home: the first of these pages that exists. */
const homes = ["/", "/account/applications", "/developer/applications"]

const Brand = ({ frame }: { readonly frame: Frame }) => {
  const home = homes.find(frame.has)
  const { hasLogo, icon, name } = frame.brand
  const brand = (
    <>
      {hasLogo ?
        <img class="mark" src={frame.base + icon.url} alt="" /> :
        (
          <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
            <rect width="24" height="24" rx="6" />
            <path d="M6 8h7M6 12h5M6 16h4M13.5 15.5l2.2 2.2 4-5" />
          </svg>
        )}
      <span>{name}</span>
    </>
  )
  return <p>{home === undefined ? brand : <a href={frame.base + home}>{brand}</a>}</p>
}

/**
 * A whole page. `isError` marks the title, which is read first. `narrow` suits a page with one form. `unrepeatable`
 * leaves out the language switch: no address shows the content of this page again. With the header `account`, nothing
 * leads away from a decision.
 */
export const Layout = (
  {
    children,
    frame,
    header = "sections",
    isError = false,
    narrow = false,
    section,
    title,
    trail = [],
    unrepeatable = false
  }: {
    readonly frame: Frame
    readonly header?: "sections" | "account"
    readonly title: string
    /** The part of what the title names. */
    readonly section?: string | undefined
    /** The pages above this one. */
    readonly trail?: ReadonlyArray<Step>
    readonly isError?: boolean
    readonly narrow?: boolean
    readonly unrepeatable?: boolean
    readonly children: ComponentChildren
  }
) => {
  const { layout, tag } = textsIn(frame.locale)
  const name = section === undefined ? title : `${section} · ${title}`
  const { icon, name: platform, stylesheet } = frame.brand
  return (
    <html lang={frame.locale}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${isError ? layout.failed(name) : name} · ${platform}`}</title>
        <link rel="stylesheet" href={frame.base + stylesheet.url} />
        <link rel="icon" type={icon.type} href={frame.base + icon.url} />
      </head>
      <body>
        <a class="skip" href="#main">{layout.skip}</a>
        <header>
          <Brand frame={frame} />
          {Option.isNone(frame.signedIn)
            ? null
            : header === "account"
            ? <span class="account">{frame.signedIn.value.user.email}</span>
            : <Account signedIn={frame.signedIn.value} frame={frame} />}
        </header>
        <main id="main" tabindex={-1} class={narrow ? "narrow" : undefined}>
          {trail.length === 0 ? null : <Trail steps={trail} label={layout.trail} />}
          <h1>{title}</h1>
          {frame.notice === undefined ? null : (
            <Alert kind="good">
              <p>{frame.notice}</p>
            </Alert>
          )}
          {children}
        </main>
        <Footer frame={frame} languages={!unrepeatable} />
        <script
          data-locale={tag}
          data-copy={layout.copy}
          data-copied={layout.copied}
          dangerouslySetInnerHTML={{ __html: script.text }}
        />
      </body>
    </html>
  )
}

/** A page above another one, and its address. */
type Step = readonly [label: string, address: string]

const Trail = ({ label, steps }: { readonly label: string; readonly steps: ReadonlyArray<Step> }) => (
  <nav aria-label={label}>
    <ol class="trail">
      {steps.map(([name, address]) => (
        <li key={address}>
          <a href={address}>{name}</a>
        </li>
      ))}
    </ol>
  </nav>
)

const Languages = ({ frame }: { readonly frame: Frame }) => (
  <nav aria-label={textsIn(frame.locale).layout.languages}>
    <ul>
      {locales.map((locale) => (
        <li key={locale}>
          <a
            href={languageUrl(locale, frame)}
            lang={locale}
            hreflang={locale}
            aria-current={locale === frame.locale ? "true" : undefined}
          >
            {textsIn(locale).language}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Links of the platform, and the language switch. */
const Footer = ({ frame, languages }: { readonly frame: Frame; readonly languages: boolean }) => {
  const { layout } = textsIn(frame.locale)
  const { name, privacyPolicy, support } = frame.brand
  const links = [[layout.support, support], [layout.privacyPolicy, privacyPolicy]] as const
  const given = links.flatMap(([label, address]) => address === undefined ? [] : [[label, address] as const])
  return languages || given.length > 0
    ? (
      <footer>
        {given.length === 0 ? null : (
          <ul aria-label={name}>
            {given.map(([label, address]) => (
              <li key={label}>
                <a href={address}>{label}</a>
              </li>
            ))}
          </ul>
        )}
        {languages ? <Languages frame={frame} /> : null}
      </footer>
    )
    : null
}

/** Address that stores the language and returns to this page. */
const languageUrl = (locale: Locale, { base, here }: Frame): string =>
  `${base}/language?${write([["locale", locale], ["return_to", inLocale(here, locale)]])}`

/** Replaces a `locale` in the address (or in the address after sign-in), which would win over the choice. */
const inLocale = (address: string, locale: Locale): string =>
  address
    .replaceAll(/([?&]locale=)[^&]*/g, `$1${locale}`)
    .replaceAll(/([?&]return_to=)([^&]*)/g, (_, name, value) => name + changed(value, (path) => inLocale(path, locale)))

/** Changes a value of a query, unless it cannot be decoded. */
const changed = (encoded: string, change: (value: string) => string): string => {
  try {
    return encodeURIComponent(change(decodeURIComponent(encoded.replaceAll("+", " "))))
  } catch {
    return encoded
  }
}

const Account = ({ frame, signedIn }: { readonly frame: Frame; readonly signedIn: SignedIn }) => {
  const { layout } = textsIn(frame.locale)
  const sections = [
    { path: "/account/applications", label: layout.applications, isForAll: true },
    { path: "/account/security", label: layout.security, isForAll: true },
    { path: "/developer/applications", label: layout.developer, isForAll: false }
  ].filter(({ isForAll, path }) => frame.has(path) && (isForAll || signedIn.user.role === "platform"))
  return (
    <nav aria-label={layout.account}>
      {sections.map(({ label, path }) => (
        <a
          key={path}
          href={frame.base + path}
          aria-current={frame.here.startsWith(frame.base + path) ? "true" : undefined}
        >
          {label}
        </a>
      ))}
      <span class="muted">{signedIn.user.email}</span>
      <SignOut
        frame={frame}
        csrf={signedIn.csrf}
        label={layout.signOut}
        returnTo={`${frame.base}/account/applications`}
      />
    </nav>
  )
}

/** The form that ends the session and continues to `returnTo`. */
export const SignOut = ({ csrf, frame, label, returnTo }: {
  readonly frame: Frame
  readonly csrf: string
  readonly label: string
  readonly returnTo: string
}) => (
  <Form action={frame.signOutUrl} csrf={csrf} hidden={[["return_to", returnTo]]}>
    <button type="submit" class="link">{label}</button>
  </Form>
)
