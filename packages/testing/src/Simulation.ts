/**
 * The whole system in one process under virtual time, from one seed: several nodes over one simulated store, behind a
 * network that drops, delays and repeats; applications, users, and receivers that hang, fail and lie; nodes that crash
 * between any two steps and come back; clocks that differ. After every step each law is checked against a ledger of
 * what was promised to whom, and a failure is told as a seed and a shortest story.
 */
export {}
