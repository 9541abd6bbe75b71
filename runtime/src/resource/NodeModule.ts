/**
 * Node's modules that few commands need, each loaded at its first use: `node:crypto` takes 5 ms of every start, and `node:net` 2 ms.
 *
 * @internal
 */

/** The module `node:crypto`, for certificates and keys. Bun has hashes itself. */
export const crypto = () => process.getBuiltinModule("node:crypto")

/** The module `node:net`, for IP addresses. */
export const net = () => process.getBuiltinModule("node:net")
