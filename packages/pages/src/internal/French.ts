/** The French catalogue. */
import { developer } from "./developer/DeveloperFrench.ts"
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
const times = new Intl.DateTimeFormat("fr-FR", { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
const numbers = new Intl.NumberFormat("fr-FR")

const tellMaker = "Revenez en arrière et signalez ce message aux auteurs de l’application."

export const messages: Messages = {
  language: "Français",
  roles,
  scope: (name) => scopes[name],
  date: (epochMillis) => dates.format(epochMillis),
  dateTime: (epochMillis) => `${times.format(epochMillis)} UTC`,
  number: (value) => numbers.format(value),
  colon: "\u00a0: ",
  layout: {
    account: "Votre compte",
    applications: "Applications autorisées",
    developer: "Développeurs",
    signOut: "Se déconnecter",
    languages: "Langue"
  },
  welcome: {
    what:
      "Ce serveur permet à des applications d’agir au nom des personnes inscrites sur une plateforme sportive, avec " +
      "leur accord, et informe les applications de ce qui arrive aux inscriptions.",
    applications: "ce que vous avez autorisé, et comment le retirer",
    developer: "enregistrer une application, suivre ses événements",
    reference: "L’interface",
    metadata: "métadonnées du serveur",
    operators: "Pour l’exploitation",
    health: "état du processus",
    readiness: "disponibilité"
  },
  login: {
    title: "Connexion",
    explanation: "Utilisez l’adresse e-mail et le mot de passe de votre compte Startlist.",
    problem: "Vous n’êtes pas connecté",
    email: "Adresse e-mail",
    password: "Mot de passe",
    submit: "Se connecter",
    wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
    emailMissing: "Saisissez votre adresse e-mail.",
    passwordMissing: "Saisissez votre mot de passe.",
    stale: "Ce formulaire est resté ouvert trop longtemps, ou les cookies sont bloqués. Veuillez réessayer.",
    wait: (seconds) =>
      seconds > 90
        ? `Trop de tentatives. Réessayez dans ${Math.ceil(seconds / 60)} minutes.`
        : `Trop de tentatives. Réessayez dans ${seconds} secondes.`
  },
  consent: {
    title: (application) => `Autoriser ${application} à utiliser votre compte\u00a0?`,
    asks: (application) => `${application} demande l’accès à votre compte Startlist.`,
    application: "Application",
    returns: "Vous retournez à",
    account: "Votre compte",
    role: "En tant que",
    notYou: "Ce n’est pas vous\u00a0?",
    switchAccount: "Utiliser un autre compte",
    scopes: (application) => `${application} pourra`,
    allOrNothing: "Tout est demandé ensemble\u00a0: vous pouvez tout autoriser ou tout refuser.",
    durationTitle: "Pour combien de temps",
    duration: (application) => `${application} garde cet accès jusqu’à ce que vous le retiriez.`,
    manage: "Vous pouvez le faire à tout moment sous",
    allow: "Autoriser",
    deny: "Ne pas autoriser",
    roleTitle: "Ce compte ne convient pas",
    roleMismatch: (application, requested, actual) =>
      `${application} demande un accès en tant que ${roles[requested]}, mais vous êtes connecté en tant que ${
        roles[actual]
      }.`,
    roleThen: (requested) =>
      `Connectez-vous avec un compte dont le rôle est ${
        roles[requested]
      }, ou revenez en arrière. Rien n’a été autorisé.`,
    backToApplication: (application) => `Retour à ${application}`
  },
  applications: {
    title: "Applications autorisées",
    none: "Aucune application n’a accès à votre compte.",
    noneThen:
      "Si une application demande l’accès et que vous l’autorisez, vous la trouverez ici et pourrez lui retirer l’accès.",
    explanation: "Ces applications peuvent utiliser votre compte. Vous pouvez leur retirer l’accès à tout moment.",
    access: "Elle peut",
    role: "En tant que",
    since: "Depuis",
    used: "Dernière utilisation",
    unused: "pas encore",
    revoke: "Retirer l’accès…",
    revokeMeans: (application) =>
      `${application} perdra son accès aussitôt et en sera informée si elle est à l’écoute. Ce qu’elle a déjà lu ou modifié reste tel quel.`,
    revokeAgain: (application) =>
      `Pour utiliser de nouveau ${application} avec votre compte, il vous faudra l’autoriser à nouveau.`,
    revokeNamed: (application) => `Retirer l’accès de ${application}`
  },
  error: {
    status: (status) => `Erreur ${status}`,
    home: "Vers votre compte",
    again: "Recommencer",
    notFound: {
      title: "Il n’y a pas de page ici",
      what: "Rien n’est connu à cette adresse, ou vous n’y avez pas accès.",
      advice: "Vérifiez l’adresse, ou continuez depuis votre compte."
    },
    badRequest: {
      title: "Demande incompréhensible",
      what: "La demande est incomplète ou endommagée.",
      advice: "Revenez en arrière et recommencez d’où vous veniez."
    },
    methodNotAllowed: {
      title: "Pas de cette façon",
      what: "Cette adresse ne peut pas être utilisée de cette façon.",
      advice: "Revenez en arrière et utilisez les boutons et les liens de la page."
    },
    tooLarge: {
      title: "C’est trop",
      what: "L’envoi est trop volumineux.",
      advice: "Revenez en arrière et envoyez moins."
    },
    tooMany: {
      title: "Trop de tentatives",
      what: "Il y a eu trop de tentatives en peu de temps.",
      advice: "Attendez quelques minutes et réessayez."
    },
    unavailable: {
      title: "Réessayez dans un instant",
      what: "Le service ne peut pas répondre pour le moment. Vous n’avez rien fait de travers.",
      advice: "Attendez quelques secondes, puis rechargez cette page."
    },
    forged: {
      title: "Ce formulaire a expiré",
      what: "Il n’appartient pas à votre session actuelle\u00a0; rien n’a été modifié.",
      advice: "Cela arrive si vous vous êtes connecté ou déconnecté entre-temps dans une autre fenêtre. Recommencez."
    },
    outdated: {
      title: "C’est déjà fait",
      what: "La page de ce formulaire n’est plus à jour\u00a0; rien n’a été modifié cette fois.",
      advice:
        "Cela arrive si un formulaire est envoyé deux fois, ou après une modification dans une autre fenêtre. Consultez d’abord l’état actuel."
    },
    notPlatform: {
      title: "Réservé aux plateformes d’inscription",
      what: "Seul un utilisateur de rôle plateforme peut enregistrer des applications. Votre compte a un autre rôle.",
      advice: "Connectez-vous avec un compte de plateforme, ou demandez-en un à l’exploitant de ce service."
    },
    unknownClient: {
      title: "Application inconnue",
      what: "L’application qui vous a envoyé ici n’est pas enregistrée auprès de ce service (client_id).",
      advice: tellMaker
    },
    suspendedClient: {
      title: "Application suspendue",
      what:
        "L’exploitant de ce service a suspendu l’application qui vous a envoyé ici. Elle n’a aucun accès pour l’instant.",
      advice: "Réessayez plus tard. Vos autorisations restent inchangées ; vous pouvez les révoquer dans votre compte."
    },
    missingRedirect: {
      title: "Demande incomplète",
      what: "L’application qui vous a envoyé ici n’a pas indiqué où vous devez retourner (redirect_uri).",
      advice: tellMaker
    },
    unregisteredRedirect: {
      title: "Arrêté pour votre sécurité",
      what:
        "L’application qui vous a envoyé ici veut vous renvoyer vers une adresse qui n’est pas enregistrée pour elle (redirect_uri).",
      advice: tellMaker
    },
    repeatedClient: {
      title: "Demande ambiguë",
      what: "L’application qui vous a envoyé ici a indiqué plusieurs fois son identifiant (client_id).",
      advice: tellMaker
    },
    repeatedRedirect: {
      title: "Demande ambiguë",
      what: "L’application qui vous a envoyé ici a indiqué plusieurs fois l’adresse de retour (redirect_uri).",
      advice: tellMaker
    },
    requestTooLong: {
      title: "Demande trop longue",
      what:
        "L’application qui vous a envoyé ici a transmis plus de données que ce service ne peut lui renvoyer (en général dans state).",
      advice: tellMaker
    }
  },
  developer
}
