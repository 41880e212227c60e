/** The English catalogue. */
import type { Messages } from "./Messages.ts"

const roles: Messages["roles"] = { platform: "platform", organizer: "organizer", club: "club", athlete: "athlete" }

const scopes: Readonly<Record<string, string>> = {
  "profile:read": "see your profile",
  "profile:write": "change your profile",
  "read": "see your registrations and data",
  "write": "change your registrations and data",
  "read+write": "see and change your registrations and data"
}

const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" })

export const messages: Messages = {
  language: "English",
  roles,
  scope: (name) => scopes[name] ?? name,
  layout: {
    applications: "Authorised applications",
    signOut: "Sign out",
    signedInAs: (name, role) => `Signed in as ${name} (${roles[role]})`,
    languages: "Language"
  },
  login: {
    title: "Sign in",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    wrong: "The e-mail address or the password is not right.",
    emailMissing: "Enter your e-mail address.",
    passwordMissing: "Enter your password.",
    stale: "This form was open for too long, or cookies are blocked. Please try again.",
    wait: (seconds) => `Too many attempts. Try again in ${seconds} seconds.`
  },
  consent: {
    title: (application) => `Allow ${application} to use your account?`,
    asks: (application, host) => `${application} asks for access to your account. It will be told at ${host}.`,
    account: (name, role) => `Account: ${name} (${roles[role]})`,
    scopes: "It will be able to:",
    duration: (application) => `${application} keeps this access until you take it back.`,
    manage: "You can do so at any time under",
    allow: "Allow",
    deny: "Do not allow",
    roleTitle: "This account does not fit",
    roleMismatch: (application, requested, actual) =>
      `${application} asks for access as ${roles[requested]}, but you are signed in as ${roles[actual]}.`,
    switchAccount: "Use another account",
    backToApplication: (application) => `Back to ${application}`
  },
  applications: {
    title: "Authorised applications",
    none: "No application has access to your account.",
    explanation: "These applications can use your account. An application whose access you revoke loses it at once.",
    application: "Application",
    access: "Access",
    since: "Since",
    action: "Action",
    revoke: "Revoke",
    revokeNamed: (application) => `Revoke the access of ${application}`,
    date: (epochMillis) => dates.format(epochMillis)
  },
  error: {
    title: "This did not work",
    notFound: "There is no page at this address.",
    badRequest: "The request cannot be understood. Go back and start again from the application.",
    methodNotAllowed: "This address cannot be used in this way.",
    tooLarge: "What was sent is too large.",
    tooMany: "Too many attempts. Wait a little and try again.",
    unavailable: "The service cannot answer at the moment. Please try again in a few seconds.",
    forged:
      "This form does not belong to your present session, so nothing was changed. Go back, reload the page, and try again.",
    unknownClient: "The application that sent you here is not known. Tell its maker about this message.",
    missingRedirect:
      "The application that sent you here did not say where you are to return (redirect_uri). Tell its maker about this message.",
    unregisteredRedirect:
      "The application that sent you here wants you to return to an address that is not registered for it. You stay here for your safety. Tell its maker about this message.",
    home: "To your account"
  }
}
