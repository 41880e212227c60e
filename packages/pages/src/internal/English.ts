/** The English catalogue. */
import { developer } from "./developer/DeveloperEnglish.ts"
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
const times = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
const numbers = new Intl.NumberFormat("en-GB")

const tellMaker = "Go back, and tell the makers of the application what is written here."

export const messages: Messages = {
  language: "English",
  roles,
  scope: (name) => scopes[name],
  date: (epochMillis) => dates.format(epochMillis),
  dateTime: (epochMillis) => `${times.format(epochMillis)} UTC`,
  number: (value) => numbers.format(value),
  colon: ": ",
  layout: {
    account: "Your account",
    applications: "Authorised applications",
    developer: "For developers",
    signOut: "Sign out",
    languages: "Language"
  },
  welcome: {
    what:
      "This server lets applications act for the people of a sports registration platform, with their consent, and " +
      "tells applications what happens to registrations.",
    applications: "what you have allowed, and how to take it back",
    developer: "register an application, watch its events",
    reference: "The interface",
    metadata: "server metadata",
    operators: "For operators",
    health: "health",
    readiness: "readiness"
  },
  login: {
    title: "Sign in",
    explanation: "Use the e-mail address and the password of your Startlist account.",
    problem: "You are not signed in",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    wrong: "The e-mail address or the password is not right.",
    emailMissing: "Enter your e-mail address.",
    passwordMissing: "Enter your password.",
    stale: "This form was open for too long, or cookies are blocked. Please try again.",
    wait: (seconds) =>
      seconds > 90
        ? `Too many attempts. Try again in ${Math.ceil(seconds / 60)} minutes.`
        : `Too many attempts. Try again in ${seconds} seconds.`
  },
  consent: {
    title: (application) => `Allow ${application} to use your account?`,
    asks: (application) => `${application} asks for access to your Startlist account.`,
    application: "Application",
    returns: "You return to",
    account: "Your account",
    role: "As",
    notYou: "Not you?",
    switchAccount: "Use another account",
    scopes: (application) => `${application} will be able to`,
    allOrNothing: "It asks for all of this together: you can allow all or nothing.",
    durationTitle: "For how long",
    duration: (application) => `${application} keeps this access until you take it back.`,
    manage: "You can do so at any time under",
    allow: "Allow",
    deny: "Do not allow",
    roleTitle: "This account does not fit",
    roleMismatch: (application, requested, actual) =>
      `${application} asks for access as ${roles[requested]}, but you are signed in as ${roles[actual]}.`,
    roleThen: (requested) =>
      `Sign in with an account that has the role ${roles[requested]}, or go back. Nothing has been allowed.`,
    backToApplication: (application) => `Back to ${application}`
  },
  applications: {
    title: "Authorised applications",
    none: "No application has access to your account.",
    noneThen: "When an application asks for access and you allow it, you find it here, and can take the access back.",
    explanation: "These applications can use your account. You can take their access back at any time.",
    access: "It can",
    role: "As",
    since: "Since",
    used: "Last used",
    unused: "not yet",
    revoke: "Revoke access…",
    revokeMeans: (application) =>
      `${application} will lose its access at once, and will be told so if it listens. What it has already read or changed stays as it is.`,
    revokeAgain: (application) => `To use ${application} with your account again, you will have to allow it anew.`,
    revokeNamed: (application) => `Revoke the access of ${application}`
  },
  error: {
    status: (status) => `Error ${status}`,
    home: "To your account",
    again: "Start again",
    notFound: {
      title: "There is no page here",
      what: "Nothing is known at this address, or it is not yours to see.",
      advice: "Check the address, or go on from your account."
    },
    badRequest: {
      title: "This cannot be understood",
      what: "The request is incomplete or damaged.",
      advice: "Go back and start again from where you came."
    },
    methodNotAllowed: {
      title: "Not in this way",
      what: "This address cannot be used in this way.",
      advice: "Go back and use the buttons and links of the page."
    },
    tooLarge: {
      title: "That is too much",
      what: "What was sent is too large.",
      advice: "Go back and send less."
    },
    tooMany: {
      title: "Too many attempts",
      what: "There were too many attempts in a short time.",
      advice: "Wait a few minutes and try again."
    },
    unavailable: {
      title: "Please try again shortly",
      what: "The service cannot answer at the moment. Nothing is wrong with what you did.",
      advice: "Wait a few seconds, then load this page again."
    },
    forged: {
      title: "This form has expired",
      what: "It does not belong to your present session, so nothing was changed.",
      advice: "This happens if you signed in or out in another window meanwhile. Start again."
    },
    outdated: {
      title: "This was done already",
      what: "The page that this form stood on is out of date, so nothing was changed this time.",
      advice:
        "This happens if a form is sent twice, or was changed in another window. Templates at the present state first."
    },
    notPlatform: {
      title: "For registration platforms only",
      what: "Only a user with the role platform can register applications. Your account has another role.",
      advice: "Sign in with a platform account, or ask the operator of this service for one."
    },
    unknownClient: {
      title: "The application is not known",
      what: "The application that sent you here is not registered with this service (client_id).",
      advice: tellMaker
    },
    suspendedClient: {
      title: "The application is suspended",
      what: "The operator of this service has suspended the application that sent you here. It gets no access for now.",
      advice: "Try again later. What you allowed before stays as it is, and you can revoke it in your account."
    },
    missingRedirect: {
      title: "The request is incomplete",
      what: "The application that sent you here did not say where you are to return (redirect_uri).",
      advice: tellMaker
    },
    unregisteredRedirect: {
      title: "Stopped for your safety",
      what:
        "The application that sent you here wants you to return to an address that is not registered for it (redirect_uri).",
      advice: tellMaker
    },
    repeatedClient: {
      title: "The request is ambiguous",
      what: "The application that sent you here gave its identifier (client_id) more than once.",
      advice: tellMaker
    },
    repeatedRedirect: {
      title: "The request is ambiguous",
      what: "The application that sent you here gave the address for your return (redirect_uri) more than once.",
      advice: tellMaker
    },
    requestTooLong: {
      title: "The request is too long",
      what: "The application that sent you here sent more than this service can return to it (usually in state).",
      advice: tellMaker
    }
  },
  developer
}
