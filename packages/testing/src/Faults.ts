/**
 * Faults as layers: each takes the layer of the stores (`Memory.Stores` or an embedder's own) and gives the same
 * services misbehaving in one way: failing, slow, answering after the caller gave up, conflicting; and a clock that is
 * ahead or behind.
 */
export {}
