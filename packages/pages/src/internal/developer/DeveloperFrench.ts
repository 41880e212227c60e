/** The developer pages in French. */
import * as Catalogue from "../Catalogue.ts"
import type { Texts } from "../English.ts"

const { duration, number } = Catalogue.formats("fr-FR")
const percent = Catalogue.percent("fr-FR")
const plural = Catalogue.plural("fr-FR")
const list = Catalogue.list("fr-FR")

const objects = { registration: "inscription", athlete: "athlète", organizer: "organisation" } as const

/** What a form of these pages has done, in French. */
export const notices: Omit<Texts["notices"], "passwordChanged" | "revoked" | "sessionEnded"> = {
  saved: (application) => `Les réglages de ${application} sont enregistrés.`,
  deleted: (application) =>
    `${application} est supprimée. Ses secrets, son abonnement et les accès autorisés ont pris fin.`,
  secretEnded: (application) => `Un secret de ${application} est révoqué. Il n’est plus accepté.`,
  subscribed: (application) => `${application} a un abonnement. Elle est informée des changements dès maintenant.`,
  paused: (application) =>
    `L’abonnement de ${application} est en pause. Rien n’est envoyé, et les événements attendent dans l’ordre jusqu’à la reprise.`,
  resumed: (application) =>
    `L’abonnement de ${application} est de nouveau actif. Les événements en attente sont livrés maintenant, dans l’ordre.`,
  ended: (application) =>
    `L’abonnement de ${application} a pris fin. Les événements en attente sont annulés. Un nouvel abonnement ne reçoit que les nouveaux événements.`,
  redelivered: (count) =>
    count === "0"
      ? "Aucun événement en échec à livrer à nouveau."
      : `${number(Number(count))} ${plural(Number(count), "événement est livré", "événements sont livrés")} à nouveau.`
}

/** The texts by page. */
export const developer: Texts["developer"] = {
  applications: {
    title: "Vos applications",
    explanation:
      "Une application agit au nom des personnes qui l’ont autorisée. Son webhook l’informe des changements.",
    none: "Vous n’avez pas encore enregistré d’application.",
    steps: [
      "Enregistrez-en une ci-dessous. Vous recevez son client_id et ses secrets.",
      "Envoyez les personnes vers son lien d’autorisation et échangez le code contre des jetons.",
      "Créez son abonnement, pour qu’elle soit informée des changements."
    ],
    guide: "Guide pour les développeurs",
    name: "Nom",
    clientId: "client_id",
    created: "Enregistrée",
    more: "Applications plus anciennes"
  },
  sections: {
    overview: "Vue d’ensemble",
    webhook: "Webhook",
    deliveries: "Livraisons",
    settings: "Réglages",
    secrets: "Secrets"
  },
  registering: {
    title: "Enregistrer une application",
    submit: "Enregistrer",
    done: (application) => `${application} est enregistrée`,
    outdated:
      "Rien n’a été enregistré cette fois\u00a0: le formulaire est resté ouvert longtemps, ou a déjà été envoyé. Vérifiez vos applications et le formulaire, puis envoyez-le de nouveau."
  },
  settings: {
    title: "Réglages",
    problem: "Rien n’a été enregistré",
    name: "Nom",
    nameHint: "Affiché lors de la demande d’accès.",
    nameWrong: "Saisissez un nom de 1 à 100 caractères.",
    redirectUris: "Adresses de redirection (redirect_uri, facultatif)",
    redirectUrisHint:
      "Une par ligne, exactement comme votre application l’envoie. Chacune commence par https://, ou par http:// sur localhost, 127.0.0.1 ou [::1].",
    redirectUrisTooMany: (count) =>
      `Enregistrez 20 adresses de redirection au maximum. Le formulaire en contient ${number(count)}.`,
    redirectUrisRepeated: (line, first) =>
      `La ligne ${line} des adresses de redirection répète la ligne ${first}. Supprimez l’une des deux.`,
    redirectUrisWrong: (lines) =>
      `Vérifiez ${plural(lines.length, "la ligne", "les lignes")} ${
        list(lines.map(String))
      } des adresses de redirection\u00a0: une adresse est une URL en https://, ou en http:// sur localhost, 127.0.0.1 ou [::1]. Elle n’a ni fragment, ni paramètre de notre réponse (code, scope, state, iss, error…).`,
    website: "Site web (facultatif)",
    privacyPolicy: "Politique de confidentialité (facultatif)",
    logo: "Logo (facultatif)",
    linkHint: "Une adresse https, affichée lors de la demande d’accès.",
    linkWrong: "Saisissez une adresse https de 255 caractères au plus, ou rien.",
    requirePkce: "Exiger PKCE",
    requirePkceHint: "Les demandes d’autorisation sans code challenge (S256) sont refusées.",
    save: "Enregistrer"
  },
  secret: {
    title: "Secret client",
    label: "client_secret",
    once: "Ce secret ne sera plus affiché. Copiez-le maintenant.",
    keep:
      "Conservez-le sur votre serveur, jamais dans une application mobile ou un navigateur. Toute personne qui le détient peut agir au nom de votre application.",
    hidden: "Un secret ne peut plus être affiché, seulement remplacé. Secrets valables\u00a0:",
    rotate: "Remplacer le secret…",
    rotateMeans: (hours) =>
      `Vous recevez un nouveau secret. Le secret actuel reste valable pendant ${
        duration(hours, "hour")
      }, pour permettre un remplacement sans interruption. Les secrets plus anciens restent valables jusqu’à leur fin.`,
    leaked: "Le secret actuel a été divulgué\u00a0: révoquer immédiatement tous les secrets existants.",
    rotateNow: "Remplacer le secret",
    rotated: (application) => `Un nouveau secret pour ${application}`,
    formerUntil: (until) => `L’ancien secret est valable jusqu’au ${until}.`,
    formerEnded: "L’ancien secret n’est plus valable.",
    goOn: (application) => `Je l’ai copié\u00a0: continuer vers ${application}`
  },
  secrets: {
    title: "Secrets valables",
    number: "N°",
    ends: "Fin",
    never: "aucune",
    action: "Révoquer",
    current: "C’est le secret actuel\u00a0: remplacez-le pour le révoquer.",
    end: (secret) => `Révoquer le secret ${secret}`,
    full: (count) =>
      `${
        number(count)
      } secrets sont valables\u00a0: c’est le maximum. Rien n’a été modifié. Révoquez d’abord l’un d’eux, ou révoquez tous les secrets existants avec le remplacement.`
  },
  webhook: {
    title: "Webhook",
    none: "Cette application n’a pas d’abonnement webhook.",
    noneThen: (address) =>
      `Pour en créer un, envoyez POST ${address} avec le jeton d’accès d’un compte de plateforme. L’adresse de rappel doit répondre à la demande de validation.`,
    create: "Créer l’abonnement…",
    callbackHint:
      "Une adresse https de 255 caractères au plus. Le service lui envoie immédiatement une demande de validation.",
    verifyToken: "Jeton de vérification",
    verifyTokenHint: "La demande de validation le contient\u00a0: votre application peut ainsi la reconnaître.",
    subscribe: "Créer l’abonnement",
    problem: "L’abonnement n’a pas été créé",
    problems: {
      too_long: "L’adresse de rappel ne doit pas dépasser 255 caractères.",
      invalid: "L’adresse de rappel doit être une adresse https sans nom d’utilisateur ni fragment.",
      international_name:
        "Écrivez le nom d’hôte sous sa forme ASCII\u00a0: münchen.example devient xn--mnchen-3ya.example.",
      trailing_dot: "Le nom d’hôte ne doit pas se terminer par un point.",
      characters: "L’adresse contient un caractère à encoder avec un signe pour cent, comme %7B pour {.",
      unreachable: "L’adresse de rappel est injoignable.",
      forbidden_address: "L’adresse de rappel n’est pas autorisée.",
      timeout: "L’adresse de rappel n’a pas répondu à temps à la validation.",
      wrong_status: "L’adresse de rappel doit répondre à la validation avec le statut 200.",
      wrong_content_type: "L’adresse de rappel doit répondre à la validation en application/json.",
      wrong_body:
        "L’adresse de rappel doit répondre à la validation par un objet JSON contenant exactement hub.challenge.",
      verify_token: "Saisissez un jeton de vérification de 1 à 1000 caractères."
    },
    failing: "L’adresse de rappel n’accepte pas les événements\u00a0: la dernière livraison terminée a échoué.",
    failed: "Livraisons en échec",
    state: "État",
    active: "actif",
    callback: "Adresse de rappel",
    id: "Abonnement",
    since: "Depuis",
    changed: "Modifié",
    test: "Envoyer un événement de test",
    testMeans:
      "Il est livré uniquement à cet abonnement, comme un événement d’inscription avec le statut «\u00a0test\u00a0».",
    paused: "en pause",
    pause: "Mettre en pause",
    pauseMeans: "Pendant la pause, rien n’est envoyé. Les événements attendent dans l’ordre.",
    pausedByOperator:
      "L’exploitant de ce service a mis l’abonnement en pause et lui seul peut le reprendre. Les événements attendent dans l’ordre. Contactez-le.",
    resume: "Reprendre",
    end: "Mettre fin à l’abonnement…",
    endMeans: "Les événements en attente sont annulés. Un nouvel abonnement ne reçoit que les nouveaux événements.",
    endNow: "Mettre fin à l’abonnement"
  },
  figures: {
    title: "Utilisation",
    subscribe: "Créer un abonnement",
    users: "Comptes connectés",
    count: (users, isAll) => isAll ? number(users) : `${number(users)} ou plus`,
    lastUse: "Dernier jeton émis",
    never: "pas encore",
    limit: "Limite, fixée par l’exploitant",
    perMinute: (requests) => `${number(requests)} ${requests === 1 ? "requête" : "requêtes"} par minute`,
    failures: "Tentatives en échec, 24 heures",
    rate: (failed, attempts) =>
      attempts === 0 ? "aucune tentative" : `${percent(failed / attempts)} (${number(failed)} sur ${number(attempts)})`
  },
  link: {
    title: "Lien d’autorisation",
    explanation:
      "Envoyez-y les personnes dont vous demandez l’accord. Remplacez la valeur de state par une valeur que vous reconnaîtrez.",
    pkce:
      "L’application exige PKCE. Pour chaque personne, remplacez CODE_CHALLENGE par le hachage S256 d’un nouveau vérificateur, et envoyez celui-ci avec le code (code_verifier).",
    none: "Enregistrez une adresse de redirection pour obtenir un lien."
  },
  ending: {
    title: "Supprimer l’application",
    explanation: "Si plus personne n’utilise l’application, supprimez-la.",
    open: "Supprimer l’application…",
    means:
      "Ses secrets, son abonnement et les accès autorisés prennent fin immédiatement. Cette action est définitive.",
    typeName: (application) => `Tapez ${application} pour confirmer`,
    wrongName: (application) => `Rien n’a été supprimé. Tapez le nom exactement\u00a0: ${application}`,
    now: "Supprimer l’application",
    suspended:
      "L’équipe qui exploite ce service a suspendu l’application. Elle ne reçoit ni jetons ni événements. Rien n’est perdu\u00a0: les événements attendent. Contactez cette équipe."
  },
  signing: {
    title: "Secret de signature",
    explanation:
      "Chaque événement est signé selon Standard Webhooks (webhook-signature). Ce secret vous permet de vérifier qu’un événement vient de ce service.",
    label: "Secret de signature",
    formerLabel: (until) => `Ancien secret (signe encore jusqu’au ${until})`,
    open: "Secret de signature…",
    reveal: "Afficher le secret",
    rotate: "Remplacer le secret de signature…",
    rotateMeans: (hours) =>
      `Dès maintenant, un nouveau secret signe les événements. Le secret actuel les signe aussi pendant ${
        duration(hours, "hour")
      }, et les plus anciens jusqu’à leur fin.`,
    rotateNow: "Remplacer le secret de signature",
    rotated: "Le secret de signature a été remplacé."
  },
  deliveries: {
    title: (application) => `Livraisons à ${application}`,
    all: "Toutes",
    filter: "Afficher par état",
    none: "Aucune livraison ne correspond.",
    id: "Livraison",
    when: "Date de l’événement",
    event: "Objet",
    state: "État",
    attempts: "Tentatives",
    outcome: "Résultat",
    countOf: (count, limit) => count < limit ? number(count) : `${number(limit)} ou plus`,
    newest: "Plus récentes",
    older: "Plus anciennes",
    open: (id) => `Livraison ${id}`,
    search: "Recherche",
    text: "Objet ou webhook-id",
    textHint: "Le numéro d’une inscription ou d’un compte, ou un webhook-id.",
    since: "Depuis (UTC)",
    until: "Avant (UTC)",
    find: "Rechercher",
    allAgain: "Livrer à nouveau tous les événements en échec…",
    allAgainMeans:
      "Tous les événements dont la livraison a échoué depuis cette date sont livrés à nouveau, dans l’ordre et avec le même webhook-id. Ceux qui ont déjà été livrés à nouveau, ou dont l’objet a un événement plus récent, sont exclus.",
    failedSince: "En échec depuis (UTC)",
    again: "Tout livrer à nouveau",
    wrongInstant: "Saisissez la date et l’heure comme 2026-01-31 08:00.",
    redelivery: (id) => `nouvelle livraison ${id}\u00a0:`
  },
  delivery: {
    title: (id, isTest) => isTest ? `Livraison ${id} (événement de test)` : `Livraison ${id}`,
    request: "La requête telle qu’elle partirait maintenant",
    requestMeans:
      "Chaque tentative envoie ce contenu avec les mêmes webhook-id et startlist-sequence. Chacune a l’heure de son début dans webhook-timestamp, et la signature correspondante.",
    headers: "En-têtes",
    curl: "La même requête en ligne de commande",
    curlMeans: "La signature est valable quelques minutes.",
    event: "Événement",
    webhookId: "webhook-id",
    occurred: "Date de l’événement",
    body: "Contenu",
    attempts: "Tentatives",
    noAttempts: "Aucune tentative pour l’instant.",
    attempt: "N°",
    at: "Date",
    outcome: "Résultat",
    duration: "Durée",
    answer: "Réponse (extrait)",
    redeliver: "Livrer à nouveau",
    redeliverMeans: "Crée une nouvelle livraison du même événement, avec le même webhook-id.",
    gone: "L’abonnement destinataire a pris fin\u00a0: une nouvelle livraison est impossible.",
    waits: "Raison de l’attente",
    waitsFor: {
      suspended: "l’équipe qui exploite ce service a suspendu l’application",
      pausedByOperator: "l’équipe qui exploite ce service a mis l’abonnement en pause",
      paused: "l’abonnement est en pause",
      due: "aucune tentative n’a encore eu lieu, ou une tentative est en cours"
    },
    waitsForEarlier: "un événement antérieur du même objet n’est pas encore livré\u00a0:",
    waitsForAttempt: (failed) =>
      `${number(failed)} ${plural(failed, "tentative a échoué", "tentatives ont échoué")}. Prochaine tentative\u00a0:`,
    reload: "Recharger",
    setAside:
      "Des tentatives ont commencé, mais le service n’a pas pu en enregistrer le résultat. Il a cessé de réessayer. Les événements suivants sont livrés."
  },
  chart: {
    title: "Les dernières 24 heures",
    none: "Aucune tentative de livraison ces dernières 24 heures.",
    summary: (delivered, failed) =>
      `${number(delivered + failed)} ${plural(delivered + failed, "tentative", "tentatives")}. Réussites\u00a0: ${
        number(delivered)
      }, échecs\u00a0: ${number(failed)}. Les heures sont en UTC.`,
    attempts: (count) => `${number(count)} ${plural(count, "tentative", "tentatives")}`,
    limit: (deliveries) => `Livraisons comptées\u00a0: les ${number(deliveries)} plus récentes.`,
    hour: "Heure",
    delivered: "Réussites",
    failed: "Échecs",
    latency: "Temps de réponse",
    typical: "Médiane",
    slowest: "Maximum",
    asTable: "Afficher en tableau"
  },
  filters: {
    pending: "En attente",
    delivered: "Livrées",
    exhausted: "En échec",
    cancelled: "Annulées",
    set_aside: "Mises de côté"
  },
  states: {
    pending: "en attente",
    delivered: "livrée",
    exhausted: "en échec",
    cancelled: "annulée",
    set_aside: "mise de côté"
  },
  outcomes: {
    delivered: "réussie",
    rejected: "refusée",
    timeout: "délai dépassé",
    unreachable: "injoignable",
    forbidden_address: "adresse non autorisée"
  },
  about: (objectType, id) => `${objects[objectType]} ${id}`,
  testEvent: "événement de test",
  milliseconds: (value) => `${number(value)}\u00a0ms`
}
