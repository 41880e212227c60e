/**
 * Startlist's stores on SQL, migrations and the embedded database.
 */
export {}
