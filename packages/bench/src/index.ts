/**
 * Startlist's benchmarks against peers and limits.
 */
export {}
