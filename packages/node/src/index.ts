/**
 * The Startlist service: configuration, wiring and command line.
 */
export {}
