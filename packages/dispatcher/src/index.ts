/**
 * Startlist's outbound HTTP: handshake, delivery, address guard, signing.
 */
export {}
