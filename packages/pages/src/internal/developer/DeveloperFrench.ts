/** The developer pages in French. */
import type { DeveloperMessages } from "./DeveloperMessages.ts"

const objects = { registration: "inscription", athlete: "athlète", organizer: "organisateur" } as const

export const developer: DeveloperMessages = {
  applications: {
    title: "Vos applications",
    explanation:
      "Une application agit pour les utilisateurs qui l’ont autorisée et apprend les changements par son webhook.",
    none: "Vous n’avez pas encore enregistré d’application.",
    name: "Nom",
    clientId: "client_id",
    created: "Enregistrée",
    more: "Applications plus anciennes"
  },
  registering: {
    title: "Enregistrer une application",
    submit: "Enregistrer",
    done: (application) => `${application} est enregistrée`,
    repeated:
      "Une application a été enregistrée depuis l’ouverture de ce formulaire, peut-être par un double envoi. Consultez d’abord la liste. Si vous en voulez une autre, envoyez le formulaire à nouveau."
  },
  settings: {
    title: "Réglages",
    problem: "Rien n’a encore été enregistré",
    name: "Nom",
    nameHint: "Les utilisateurs le voient quand l’accès leur est demandé.",
    nameWrong: "Saisissez un nom de 1 à 100 caractères.",
    redirectUris: "Adresses de redirection (redirect_uri)",
    redirectUrisHint:
      "Une par ligne, exactement comme votre application l’envoie. Chacune commence par https://, ou par http:// sur localhost, 127.0.0.1 ou [::1].",
    redirectUrisWrong:
      "Vérifiez les adresses\u00a0: chacune doit commencer par https://, ou par http:// sur localhost, 127.0.0.1 ou [::1], sans fragment. Au plus 20, aucune en double.",
    requirePkce: "Exiger PKCE",
    requirePkceHint: "Les demandes d’autorisation sans code challenge (S256) sont refusées.",
    save: "Enregistrer",
    saved: "Les réglages sont enregistrés."
  },
  secret: {
    title: "Secret client",
    label: "client_secret",
    once: "Le secret n’est affiché que cette fois. Copiez-le maintenant.",
    keep:
      "Gardez-le sur votre serveur, jamais dans une app ou un navigateur. Qui le possède peut agir comme votre application.",
    one: "Un secret est utilisé. Il ne peut plus être affiché, seulement remplacé.",
    two: (until) => `Deux secrets sont acceptés\u00a0: l’actuel, et l’ancien jusqu’au ${until}.`,
    rotate: "Remplacer le secret…",
    rotateMeans: (hours) =>
      `Vous recevez un nouveau secret. L’actuel reste accepté à côté pendant ${hours} heures, pour un passage sans interruption. Un plus ancien cesse aussitôt.`,
    leaked: "Le secret actuel a fuité\u00a0: y mettre fin aussitôt.",
    rotateNow: "Remplacer le secret",
    rotated: (application) => `Un nouveau secret pour ${application}`,
    formerUntil: (until) => `L’ancien secret est accepté jusqu’au ${until}.`,
    formerEnded: "L’ancien secret n’est plus accepté.",
    goOn: (application) => `Je l’ai copié\u00a0: continuer vers ${application}`
  },
  webhook: {
    title: "Webhook",
    none: "Cette application n’a pas d’abonnement webhook.",
    noneThen: (address) =>
      `Elle en crée un par POST ${address} avec le jeton d’accès d’un utilisateur plateforme. Son adresse de rappel doit répondre au défi.`,
    state: "État",
    active: "actif",
    callback: "Adresse de rappel",
    id: "Abonnement",
    since: "Depuis",
    changed: "Modifié",
    deliveries: "Toutes les livraisons",
    test: "Envoyer un événement de test",
    testMeans: "Pour cet abonnement seulement. C’est un événement d’inscription avec le statut «\u00a0test\u00a0»."
  },
  signing: {
    title: "Secret de signature",
    explanation:
      "Chaque événement est signé selon Standard Webhooks (webhook-signature). Ce secret vous permet de vérifier qu’un événement vient d’ici.",
    label: "Secret de signature",
    formerLabel: (until) => `L’ancien, signe aussi jusqu’au ${until}`,
    open: "Secret de signature…",
    reveal: "Afficher le secret",
    rotate: "Remplacer le secret de signature…",
    rotateMeans: (hours) => `Un nouveau secret signe dès maintenant. Pendant ${hours} heures, l’actuel signe aussi.`,
    rotateNow: "Remplacer le secret de signature",
    rotated: "Il y a un nouveau secret de signature."
  },
  deliveries: {
    title: (application) => `Livraisons à ${application}`,
    all: "Toutes",
    filter: "Afficher par état",
    none: "Il n’y a pas de telle livraison.",
    id: "Livraison",
    when: "Événement du",
    event: "Objet",
    state: "État",
    attempts: "Essais",
    last: "Dernier résultat",
    newest: "Plus récentes",
    older: "Plus anciennes",
    open: (id) => `Livraison ${id}`
  },
  delivery: {
    title: (id) => `Livraison ${id}`,
    event: "Événement",
    webhookId: "webhook-id",
    occurred: "Survenu",
    next: "Prochain essai",
    body: "Ce qui est envoyé",
    attempts: "Essais",
    noAttempts: "Aucun essai n’a encore été fait.",
    attempt: "N°",
    at: "Le",
    outcome: "Résultat",
    status: "Statut",
    duration: "Durée",
    answer: "Réponse (extrait)",
    redeliver: "Livrer à nouveau",
    redeliverMeans: "Crée une nouvelle livraison du même événement, avec le même webhook-id.",
    gone: "L’abonnement destinataire a pris fin\u00a0: une nouvelle livraison est impossible.",
    queued: "Cette livraison est en file d’attente. Rechargez la page dans un instant pour en voir le résultat.",
    reload: "Recharger",
    setAside:
      "Des essais ont commencé, mais le service n’a pas pu en enregistrer le résultat. Il a cessé d’essayer. Les événements suivants ont continué."
  },
  chart: {
    title: "Les dernières 24 heures",
    none: "Aucun essai de livraison ces dernières 24 heures.",
    summary: (delivered, failed) => `Essais livrés\u00a0: ${delivered}, échoués\u00a0: ${failed}. Heures en UTC.`,
    limit: (deliveries) => `Au plus les ${deliveries} livraisons les plus récentes sont comptées.`,
    hour: "Heure",
    delivered: "Livrés",
    failed: "Échoués",
    latency: "Temps jusqu’à la réponse",
    typical: "Médiane",
    slowest: "Le plus lent",
    asTable: "Les mêmes chiffres en tableau"
  },
  states: {
    pending: "en attente",
    delivered: "livrée",
    exhausted: "échouée",
    cancelled: "annulée",
    set_aside: "mise de côté"
  },
  outcomes: {
    delivered: "livré",
    rejected: "réponse autre que 200",
    timeout: "pas de réponse à temps",
    unreachable: "injoignable",
    forbidden_address: "adresse non autorisée"
  },
  about: (objectType, id) => `${objects[objectType]} ${id}`,
  testEvent: "événement de test",
  milliseconds: (value) => `${value} ms`
}
