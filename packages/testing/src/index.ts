/**
 * Laws, programs and simulation for Startlist's stores.
 */
export {}
