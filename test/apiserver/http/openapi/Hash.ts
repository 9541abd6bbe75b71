/**
 * The hashes in the documents that describe an API server.
 */
import { createHash } from "node:crypto"

/** The hash of a document. */
export const document = (text: string): string => createHash("sha512").update(text).digest("hex").toUpperCase()

/** The hash of the version in which the objects of a kind are stored. Discovery shows only this hash. */
export const storageVersion = (apiVersion: string, kind: string): string =>
  createHash("sha256")
    .update(`${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}/${kind}`)
    .digest()
    .subarray(0, 8)
    .toString("base64")
