/** The French catalogue. */
import type { Messages } from "./Messages.ts"

const roles: Messages["roles"] = {
  platform: "plateforme",
  organizer: "organisateur",
  club: "club",
  athlete: "athlète"
}

const scopes: Readonly<Record<string, string>> = {
  "profile:read": "consulter votre profil",
  "profile:write": "modifier votre profil",
  "read": "consulter vos inscriptions et vos données",
  "write": "modifier vos inscriptions et vos données",
  "read+write": "consulter et modifier vos inscriptions et vos données"
}

const dates = new Intl.DateTimeFormat("fr-FR", { dateStyle: "long", timeZone: "UTC" })

export const messages: Messages = {
  language: "Français",
  roles,
  scope: (name) => scopes[name] ?? name,
  layout: {
    applications: "Applications autorisées",
    signOut: "Se déconnecter",
    signedInAs: (name, role) => `Connecté en tant que ${name} (${roles[role]})`,
    languages: "Langue"
  },
  login: {
    title: "Connexion",
    email: "Adresse e-mail",
    password: "Mot de passe",
    submit: "Se connecter",
    wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
    emailMissing: "Saisissez votre adresse e-mail.",
    passwordMissing: "Saisissez votre mot de passe.",
    stale: "Ce formulaire est resté ouvert trop longtemps, ou les cookies sont bloqués. Veuillez réessayer.",
    wait: (seconds) => `Trop de tentatives. Réessayez dans ${seconds} secondes.`
  },
  consent: {
    title: (application) => `Autoriser ${application} à utiliser votre compte ?`,
    asks: (application, host) => `${application} demande l’accès à votre compte. La réponse sera envoyée à ${host}.`,
    account: (name, role) => `Compte : ${name} (${roles[role]})`,
    scopes: "L’application pourra :",
    duration: (application) => `${application} garde cet accès jusqu’à ce que vous le retiriez.`,
    manage: "Vous pouvez le faire à tout moment sous",
    allow: "Autoriser",
    deny: "Ne pas autoriser",
    roleTitle: "Ce compte ne convient pas",
    roleMismatch: (application, requested, actual) =>
      `${application} demande un accès en tant que ${roles[requested]}, mais vous êtes connecté en tant que ${
        roles[actual]
      }.`,
    switchAccount: "Utiliser un autre compte",
    backToApplication: (application) => `Retour à ${application}`
  },
  applications: {
    title: "Applications autorisées",
    none: "Aucune application n’a accès à votre compte.",
    explanation:
      "Ces applications peuvent utiliser votre compte. Une application dont vous retirez l’accès le perd aussitôt.",
    application: "Application",
    access: "Accès",
    since: "Depuis",
    action: "Action",
    revoke: "Retirer l’accès",
    revokeNamed: (application) => `Retirer l’accès de ${application}`,
    date: (epochMillis) => dates.format(epochMillis)
  },
  error: {
    title: "Cela n’a pas fonctionné",
    notFound: "Il n’y a pas de page à cette adresse.",
    badRequest: "La demande est incompréhensible. Revenez en arrière et recommencez depuis l’application.",
    methodNotAllowed: "Cette adresse ne peut pas être utilisée de cette façon.",
    tooLarge: "L’envoi est trop volumineux.",
    tooMany: "Trop de tentatives. Attendez un peu et réessayez.",
    unavailable: "Le service ne peut pas répondre pour le moment. Veuillez réessayer dans quelques secondes.",
    forged:
      "Ce formulaire n’appartient pas à votre session actuelle ; rien n’a été modifié. Revenez en arrière, rechargez la page et réessayez.",
    unknownClient: "L’application qui vous a envoyé ici est inconnue. Signalez ce message à son auteur.",
    missingRedirect:
      "L’application qui vous a envoyé ici n’a pas indiqué où vous devez retourner (redirect_uri). Signalez ce message à son auteur.",
    unregisteredRedirect:
      "L’application qui vous a envoyé ici veut vous renvoyer vers une adresse qui n’est pas enregistrée pour elle. Vous restez ici pour votre sécurité. Signalez ce message à son auteur.",
    home: "Vers votre compte"
  }
}
