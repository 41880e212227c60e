/** The French catalogue. */
import * as Catalogue from "./Catalogue.ts"
import { developer, notices as developerNotices } from "./developer/DeveloperFrench.ts"
import type { Texts } from "./English.ts"

const roles: Texts["roles"] = {
  platform: "plateforme",
  organizer: "organisation",
  club: "club",
  athlete: "athlète"
}

const scopes: Readonly<Record<string, string>> = {
  "profile:read": "consulter votre profil",
  "profile:write": "modifier votre profil",
  "profile:read+write": "consulter et modifier votre profil",
  "read": "consulter vos inscriptions et vos données",
  "write": "modifier vos inscriptions et vos données",
  "read+write": "consulter et modifier vos inscriptions et vos données"
}

const formats = Catalogue.formats("fr-FR")

const reportToDevelopers = "Revenez en arrière et signalez ce message à l’équipe qui développe l’application."

/** The texts by page. */
export const texts: Texts = {
  language: "Français",
  roles,
  scope: (name) => scopes[name],
  ...formats,
  colon: "\u00a0: ",
  layout: {
    account: "Votre compte",
    applications: "Applications autorisées",
    developer: "Développeurs",
    security: "Mot de passe et sessions",
    signOut: "Se déconnecter",
    languages: "Langue",
    trail: "Pages au-dessus",
    skip: "Aller au contenu",
    failed: (title) => `Erreur\u00a0: ${title}`,
    support: "Aide",
    privacyPolicy: "Politique de confidentialité",
    copy: "Copier",
    copied: "Copié"
  },
  welcome: {
    what: (platform) =>
      `Vous décidez ici quelles applications peuvent utiliser votre compte ${platform}. Une application ne peut agir en votre nom qu’avec votre accord, que vous pouvez révoquer à tout moment.`,
    applications: "Voir ce que vous avez autorisé, et le révoquer.",
    developers:
      "Les applications agissent au nom des personnes inscrites et sont informées des changements d’inscriptions.",
    register: "Enregistrer une application, suivre ses livraisons",
    guide: "Guide pour les développeurs",
    reference: "L’API",
    metadata: "métadonnées du serveur"
  },
  reference: {
    what: "Chaque groupe a une page avec ses opérations, leurs champs, une commande et un exemple. Les documents :",
    groups: "Groupes",
    overview: "Toutes les opérations",
    credentials: "Identification",
    credential: {
      client: "Identifiants de l’application",
      accessToken: "Jeton d’accès d’un utilisateur",
      operatorToken: "Jeton de l’exploitant"
    },
    withBasic: "client_id et client_secret, avec HTTP Basic ou comme paramètres",
    name: "Nom",
    type: "Type",
    description: "Description",
    place: { path: "dans le chemin", query: "dans la requête", header: "un en-tête", body: "dans le corps" },
    required: "obligatoire",
    fields: "Champs",
    answers: "Réponses",
    exampleAnswer: "Exemple de réponse",
    status: "Statut",
    meaning: "Signification",
    commonErrors: "Erreurs communes"
  },
  login: {
    title: "Connexion",
    explanation: (platform) => `Utilisez l’adresse e-mail et le mot de passe de votre compte ${platform}.`,
    onTheWay: (application) => `${application} demande l’accès à votre compte. Connectez-vous pour décider.`,
    problem: "Connexion impossible",
    email: "Adresse e-mail",
    password: "Mot de passe",
    submit: "Se connecter",
    wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
    emailMissing: "Saisissez votre adresse e-mail.",
    passwordMissing: "Saisissez votre mot de passe.",
    stale: "Ce formulaire est resté ouvert trop longtemps, ou les cookies sont bloqués. Veuillez réessayer.",
    wait: (seconds) => `Trop de tentatives. Réessayez dans ${Catalogue.wait(seconds, formats.duration)}.`
  },
  consent: {
    title: (application, platform) => `Autoriser ${application} à utiliser votre compte ${platform}\u00a0?`,
    before: (application) => `Vous avez déjà autorisé ${application}.`,
    scopes: (application) => `${application} pourra`,
    untilRevoked: (application) =>
      `${application} garde cet accès, et peut être informée quand ces données changent, jusqu’à ce que vous le révoquiez`,
    revokedIn: "dans",
    website: "Site web",
    privacyPolicy: "Politique de confidentialité",
    account: "Votre compte",
    switchAccount: "Utiliser un autre compte",
    returns: "Redirection ensuite vers",
    allow: "Autoriser",
    deny: "Ne pas autoriser",
    roleTitle: "Ce compte n’a pas le bon rôle",
    roleMismatch: (application, requested, actual) =>
      `${application} demande un accès avec le rôle «\u00a0${
        roles[requested]
      }\u00a0», mais votre compte a le rôle «\u00a0${roles[actual]}\u00a0».`,
    roleThen: (requested) =>
      `Connectez-vous avec un compte qui a le rôle «\u00a0${
        roles[requested]
      }\u00a0», ou revenez en arrière. Rien n’a été autorisé.`,
    backToApplication: (application) => `Retour à ${application}`
  },
  security: {
    title: "Mot de passe et sessions",
    password: "Changer de mot de passe",
    present: "Mot de passe actuel",
    next: "Nouveau mot de passe",
    rule: "Au moins 8 caractères. Les mots de passe trop courants sont refusés.",
    change: "Changer le mot de passe",
    problem: "Le mot de passe n’a pas été changé",
    wrong: "Le mot de passe actuel est incorrect.",
    missing: "Saisissez votre mot de passe actuel et le nouveau.",
    unacceptable: "Le nouveau mot de passe doit avoir entre 8 et 1000 caractères et ne pas être trop courant.",
    sessions: "Vos sessions",
    sessionsExplained: "Si vous ne reconnaissez pas une session, fermez-la et changez de mot de passe.",
    started: "Connexion",
    used: "Dernière utilisation",
    session: "Session",
    thisSession: "Ce navigateur",
    unknownDevice: "Navigateur inconnu",
    network: "Réseau",
    end: "Fermer la session",
    endOthers: "Fermer toutes les autres sessions",
    reset: "Choisir un nouveau mot de passe",
    resetFor: (email) => `Choisissez un nouveau mot de passe pour ${email}.`,
    resetDone:
      "Votre mot de passe a été changé et toutes les sessions ont été fermées. Connectez-vous avec le nouveau mot de passe.",
    resetRefused: "Ce lien a expiré ou a déjà été utilisé. Demandez-en un nouveau."
  },
  applications: {
    title: "Applications autorisées",
    none: "Aucune application n’a accès à votre compte.",
    noneThen:
      "Quand vous autorisez une application à utiliser votre compte, vous la voyez ici et pouvez révoquer son accès.",
    explanation: "Ces applications peuvent utiliser votre compte. Vous pouvez révoquer leur accès à tout moment.",
    access: "Elle peut",
    still: "Jusqu’à l’expiration de ses anciens jetons, elle peut aussi",
    role: "Rôle",
    since: "Depuis",
    used: "Dernière utilisation",
    unused: "pas encore",
    revoke: "Révoquer l’accès…",
    revokeMeans: (application) =>
      `${application} perdra son accès immédiatement et en sera informée si elle reçoit les notifications. Ce qu’elle a déjà lu ou modifié reste tel quel.`,
    revokeAgain: (application) =>
      `Pour réutiliser ${application} avec votre compte, vous devrez l’autoriser à nouveau.`,
    revokeNamed: (application) => `Révoquer l’accès de ${application}`
  },
  notices: {
    revoked: (application) =>
      `${application} n’a plus accès à votre compte. Ses jetons ne fonctionnent plus. Pour réutiliser l’application, vous devrez l’autoriser à nouveau.`,
    passwordChanged: () => "Votre mot de passe a été changé. Toutes les autres sessions ont été fermées.",
    sessionEnded: () => "La session a été fermée.",
    ...developerNotices
  },
  error: {
    status: (status) => `Erreur ${status}`,
    request: "Requête",
    home: "Aller à votre compte",
    again: "Recommencer",
    goTo: (path) => `Aller à ${path}`,
    notFound: {
      title: "Page introuvable",
      what: "Cette page n’existe pas, ou vous n’y avez pas accès.",
      advice: "Vérifiez l’adresse, ou continuez depuis votre compte."
    },
    badRequest: {
      title: "Demande illisible",
      what: "La demande est incomplète ou endommagée.",
      advice: "Revenez à la page précédente et recommencez."
    },
    methodNotAllowed: {
      title: "Action non autorisée",
      what: "Cette adresse n’accepte pas ce type de requête.",
      advice: "Revenez en arrière et utilisez les boutons et les liens de la page."
    },
    tooLarge: {
      title: "Envoi trop volumineux",
      what: "La requête contient trop de données.",
      advice: "Revenez en arrière et envoyez moins de données."
    },
    tooMany: {
      title: "Trop de tentatives",
      what: "Il y a eu trop de tentatives en peu de temps.",
      advice: "Attendez quelques minutes et réessayez."
    },
    unavailable: {
      title: "Réessayez dans un instant",
      what: "Le service ne peut pas répondre pour le moment. L’erreur ne vient pas de vous.",
      advice: "Attendez quelques secondes, puis rechargez cette page."
    },
    forged: {
      title: "Ce formulaire a expiré",
      what: "Il n’appartient pas à votre session actuelle. Rien n’a été modifié.",
      advice: "Cela arrive après une connexion ou une déconnexion dans une autre fenêtre. Recommencez."
    },
    signedOut: {
      title: "Session terminée",
      what: "Votre session a pris fin avant l’arrivée du formulaire. Rien n’a été modifié.",
      advice: "Connectez-vous et envoyez le formulaire à nouveau."
    },
    outdated: {
      title: "La page n’était plus à jour",
      what: "Rien n’a été modifié cette fois.",
      advice:
        "Cela arrive si un formulaire est envoyé deux fois ou reste ouvert longtemps, ou après une modification dans une autre fenêtre. Consultez d’abord l’état actuel."
    },
    notPlatform: {
      title: "Réservé aux plateformes d’inscription",
      what:
        "Seul un compte avec le rôle «\u00a0plateforme\u00a0» peut enregistrer des applications. Votre compte a un autre rôle.",
      advice: "Connectez-vous avec un compte de plateforme, ou demandez-en un à l’équipe qui exploite ce service."
    },
    unknownClient: {
      title: "Application inconnue",
      what: "L’application d’où vous venez n’est pas enregistrée auprès de ce service (client_id).",
      advice: reportToDevelopers
    },
    suspendedClient: {
      title: "Application suspendue",
      what:
        "L’équipe qui exploite ce service a suspendu l’application d’où vous venez. Elle n’a aucun accès pour l’instant.",
      advice: "Réessayez plus tard. Vos autorisations restent inchangées. Vous pouvez les révoquer dans votre compte."
    },
    missingRedirect: {
      title: "Demande incomplète",
      what: "L’application d’où vous venez n’a pas indiqué vers quelle adresse vous renvoyer (redirect_uri).",
      advice: reportToDevelopers
    },
    unregisteredRedirect: {
      title: "Demande bloquée pour votre sécurité",
      what:
        "L’application d’où vous venez veut vous renvoyer vers une adresse qui n’est pas enregistrée pour elle (redirect_uri).",
      advice: reportToDevelopers
    },
    repeatedClient: {
      title: "Demande ambiguë",
      what: "L’application d’où vous venez a indiqué plusieurs fois son identifiant (client_id).",
      advice: reportToDevelopers
    },
    repeatedRedirect: {
      title: "Demande ambiguë",
      what: "L’application d’où vous venez a indiqué plusieurs fois l’adresse de retour (redirect_uri).",
      advice: reportToDevelopers
    },
    ambiguousRedirect: {
      title: "Demande ambiguë",
      what:
        "L’adresse de retour (redirect_uri) de l’application d’où vous venez contient déjà un paramètre de notre réponse, comme code ou state.",
      advice: reportToDevelopers
    },
    requestTooLong: {
      title: "Demande trop longue",
      what:
        "L’application d’où vous venez a transmis plus de données que ce service ne peut lui renvoyer (en général dans state).",
      advice: reportToDevelopers
    }
  },
  developer
}
