/**
 * Startlist's protocol endpoints, pages and their bindings.
 */
export {}
