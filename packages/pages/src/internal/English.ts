/**
 * The English catalogue, and the type of the texts: every other language must have the same ones, and a missing one does
 * not compile.
 */
/**
 * The texts of the pages. Their types come from the English catalogue: every other language must have the same texts,
 * and a missing one does not compile.
 */
import type { Role } from "@startlist/core/User"
import * as Catalogue from "./Catalogue.ts"
import { developer, notices as developerNotices } from "./developer/DeveloperEnglish.ts"

const roles: Readonly<Record<Role, string>> = {
  platform: "platform",
  organizer: "organizer",
  club: "club",
  athlete: "athlete"
}

const scopes: Readonly<Record<string, string>> = {
  "profile:read": "see your profile",
  "profile:write": "change your profile",
  "profile:read+write": "see and change your profile",
  "read": "see your registrations and data",
  "write": "change your registrations and data",
  "read+write": "see and change your registrations and data"
}

const formats = Catalogue.formats("en-GB")

/** A role with its article. */
const asRole: Readonly<Record<Role, string>> = {
  platform: "a platform",
  organizer: "an organizer",
  club: "a club",
  athlete: "an athlete"
}

const reportToDevelopers = "Go back, and report this message to the developers of the application."

/** The texts by page. */
export const texts = {
  /** The name of the language itself, for the switch. */
  language: "English",
  roles,
  /** Describes a scope, or two that belong together. A scope of the operator without a description is shown by its name. */
  scope: (name: string): string | undefined => scopes[name],
  ...formats,
  /** Colon between a label and its value, with the spaces of the language. */
  colon: ": ",
  layout: {
    account: "Your account",
    applications: "Authorised applications",
    developer: "For developers",
    security: "Password and sessions",
    signOut: "Sign out",
    languages: "Language",
    /** The list of the pages above this one. */
    trail: "Pages above",
    /** The link that skips the header. */
    skip: "Skip to the content",
    /** The title of an error page. */
    failed: (title: string) => `Error: ${title}`,
    support: "Help",
    privacyPolicy: "Privacy policy",
    copy: "Copy",
    copied: "Copied"
  },
  welcome: {
    what: (platform: string) =>
      `Here you decide which applications may use your ${platform} account. An application can act for you only with your consent, and you can revoke it at any time.`,
    applications: "See what you have allowed, and revoke it.",
    developers:
      "Applications act for users of a sports registration platform, and are notified when registrations change.",
    register: "Register an application, follow its deliveries",
    guide: "Guide for developers",
    reference: "The API",
    metadata: "server metadata"
  },
  reference: {
    what: "Each group has a page with its operations, their fields, a command and an example. The same as documents:",
    groups: "Groups",
    overview: "All operations",
    credentials: "Credentials",
    credential: {
      client: "Client credentials",
      accessToken: "Access token of a user",
      operatorToken: "Operator token"
    },
    withBasic: "client_id and client_secret, with HTTP Basic or as parameters",
    name: "Name",
    type: "Type",
    description: "Description",
    place: { path: "in the path", query: "in the query", header: "a header", body: "in the body" },
    required: "required",
    fields: "Fields",
    answers: "Answers",
    exampleAnswer: "Example of an answer",
    status: "Status",
    meaning: "Meaning",
    commonErrors: "Common errors"
  },
  login: {
    title: "Sign in",
    explanation: (platform: string) => `Use the e-mail address and the password of your ${platform} account.`,
    /** Shown if a consent page follows. */
    onTheWay: (application: string) => `${application} asks for access to your account. Sign in to decide.`,
    problem: "Sign-in failed",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    wrong: "The e-mail address or the password is incorrect.",
    emailMissing: "Enter your e-mail address.",
    passwordMissing: "Enter your password.",
    stale: "This form was open for too long, or cookies are blocked. Please try again.",
    wait: (seconds: number) => `Too many attempts. Try again in ${Catalogue.wait(seconds, formats.duration)}.`
  },
  consent: {
    title: (application: string, platform: string) => `Allow ${application} to use your ${platform} account?`,
    before: (application: string) => `You have allowed ${application} before.`,
    scopes: (application: string) => `${application} will be able to`,
    /** Continued with the name of the page of authorised applications, if there is one. */
    untilRevoked: (application: string) =>
      `${application} keeps this access, and can be notified when these data change, until you revoke it`,
    revokedIn: "in",
    website: "Website",
    privacyPolicy: "Privacy policy",
    account: "Your account",
    switchAccount: "Use another account",
    returns: "Then you go to",
    allow: "Allow",
    deny: "Do not allow",
    roleTitle: "This account has the wrong role",
    roleMismatch: (application: string, requested: Role, actual: Role) =>
      `${application} asks for access as ${asRole[requested]}, but you are signed in as ${asRole[actual]}.`,
    roleThen: (requested: Role) =>
      `Sign in with an account that has the role ${roles[requested]}, or go back. Nothing has been allowed.`,
    backToApplication: (application: string) => `Back to ${application}`
  },
  security: {
    title: "Password and sessions",
    password: "Change your password",
    present: "Current password",
    next: "New password",
    rule: "At least 8 characters. Very common passwords are refused.",
    change: "Change password",
    problem: "The password was not changed",
    wrong: "The current password is incorrect.",
    missing: "Enter your current password and a new one.",
    unacceptable: "The new password must have 8 to 1000 characters, and must not be a very common one.",
    sessions: "Where you are signed in",
    sessionsExplained: "If you do not recognise a session, end it and change your password.",
    started: "Signed in",
    used: "Last used",
    session: "Session",
    thisSession: "This browser",
    unknownDevice: "Unknown browser",
    network: "Network",
    end: "End session",
    endOthers: "End all other sessions",
    reset: "Set a new password",
    resetFor: (email: string) => `Choose a new password for ${email}.`,
    resetDone: "Your password was changed, and all sessions were ended. Sign in with the new password.",
    resetRefused: "This link has expired, or it was used before. Ask for a new one."
  },
  applications: {
    title: "Authorised applications",
    none: "No application has access to your account.",
    noneThen: "When you allow an application to use your account, you can see it and revoke its access here.",
    explanation: "These applications can use your account. You can revoke their access at any time.",
    access: "It can",
    /** The scopes that tokens of an earlier, broader consent still allow. */
    still: "Until its older tokens expire, it can also",
    role: "Role",
    since: "Since",
    used: "Last used",
    unused: "not yet",
    revoke: "Revoke access…",
    revokeMeans: (application: string) =>
      `${application} will lose its access immediately. It is notified if it receives notifications. What it has already read or changed stays as it is.`,
    revokeAgain: (application: string) =>
      `To use ${application} with your account again, you will have to allow it again.`,
    revokeNamed: (application: string) => `Revoke the access of ${application}`
  },
  /** The outcome of a form, and its consequence. */
  notices: {
    revoked: (application: string) =>
      `${application} no longer has access to your account. Its tokens have stopped working. To use it again, you will have to allow it again.`,
    passwordChanged: (_: string) => "Your password was changed. All other sessions were ended.",
    sessionEnded: (_: string) => "The session was ended.",
    ...developerNotices
  },
  error: {
    status: (status: number) => `Error ${status}`,
    /** The name of the request in the log. */
    request: "Request",
    home: "Go to your account",
    again: "Start again",
    /** A link to the page that the user probably wants. */
    goTo: (path: string) => `Go to ${path}`,
    notFound: {
      title: "Page not found",
      what: "This page does not exist, or you do not have access to it.",
      advice: "Check the address, or continue from your account."
    },
    badRequest: {
      title: "The request cannot be read",
      what: "The request is incomplete or damaged.",
      advice: "Go back to the previous page and start again."
    },
    methodNotAllowed: {
      title: "Method not allowed",
      what: "This address does not accept this kind of request.",
      advice: "Go back and use the buttons and links of the page."
    },
    tooLarge: {
      title: "Too much data",
      what: "The request is too large.",
      advice: "Go back and send less."
    },
    tooMany: {
      title: "Too many attempts",
      what: "There were too many attempts in a short time.",
      advice: "Wait a few minutes and try again."
    },
    unavailable: {
      title: "Please try again shortly",
      what: "The service cannot answer at the moment. You did nothing wrong.",
      advice: "Wait a few seconds, then reload this page."
    },
    forged: {
      title: "This form has expired",
      what: "It does not belong to your current session. Nothing was changed.",
      advice: "This happens if you signed in or out in another window. Start again."
    },
    signedOut: {
      title: "You are signed out",
      what: "Your session ended before the form arrived. Nothing was changed.",
      advice: "Sign in, and send the form again."
    },
    outdated: {
      title: "This page was out of date",
      what: "Nothing was changed this time.",
      advice:
        "This happens if a form is sent twice or was open for a long time, or after a change in another window. Check the current state first."
    },
    notPlatform: {
      title: "For registration platforms only",
      what: "Only a user with the role platform can register applications. Your account has another role.",
      advice: "Sign in with a platform account, or ask the operator of this service for one."
    },
    unknownClient: {
      title: "Unknown application",
      what: "The application that sent you here is not registered with this service (client_id).",
      advice: reportToDevelopers
    },
    suspendedClient: {
      title: "The application is suspended",
      what: "The operator of this service has suspended the application that sent you here. It gets no access for now.",
      advice: "Try again later. What you allowed before stays as it is, and you can revoke it in your account."
    },
    missingRedirect: {
      title: "The request is incomplete",
      what: "The application that sent you here did not say where to send you back (redirect_uri).",
      advice: reportToDevelopers
    },
    unregisteredRedirect: {
      title: "Blocked for your safety",
      what:
        "The application that sent you here wants to send you to an address that is not registered for it (redirect_uri).",
      advice: reportToDevelopers
    },
    repeatedClient: {
      title: "The request is ambiguous",
      what: "The application that sent you here sent its identifier (client_id) more than once.",
      advice: reportToDevelopers
    },
    repeatedRedirect: {
      title: "The request is ambiguous",
      what: "The application that sent you here sent the return address (redirect_uri) more than once.",
      advice: reportToDevelopers
    },
    ambiguousRedirect: {
      title: "The request is ambiguous",
      what:
        "The return address (redirect_uri) of the application that sent you here already contains a parameter of our answer, such as code or state.",
      advice: reportToDevelopers
    },
    requestTooLong: {
      title: "The request is too long",
      what: "The application that sent you here sent more data than this service can return to it (usually in state).",
      advice: reportToDevelopers
    }
  },
  developer
}

/** The same texts in any language. */
type InAnyLanguage<Text> = Text extends string ? string
  : Text extends (...values: infer Values) => infer Sentence ? (...values: Values) => InAnyLanguage<Sentence>
  : Text extends object ? { readonly [Name in keyof Text]: InAnyLanguage<Text[Name]> }
  : Text

/** All texts of a language. */
export type Texts = InAnyLanguage<typeof texts>

/** The reason why a page cannot be shown, as far as users need it. */
export type ErrorKind = {
  [Name in keyof Texts["error"]]: Texts["error"][Name] extends { readonly advice: string } ? Name : never
}[keyof Texts["error"]]
