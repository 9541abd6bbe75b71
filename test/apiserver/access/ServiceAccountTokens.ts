/**
 * The tokens of service accounts: JSON Web Tokens that the server signs and verifies.
 *
 * The signatures use Ed25519, which is deterministic for a seed. A kube-apiserver uses RSA or ECDSA.
 */

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Verdict } from "../model/Authenticator.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as User from "../model/User.ts"
import type { Store } from "../storage/Store.ts"

/** The object that limits the lifetime of a token. */
export interface Reference {
  readonly name: string
  readonly uid?: string | undefined
}

/** The claims of a token. */
export interface Claims {
  readonly audiences: ReadonlyArray<string>
  readonly namespace: string
  readonly account: Reference
  /** The bound objects by `pod`, `node` and `secret`. */
  readonly bound: { readonly [kind: string]: Reference }
  /** The unique id of the token. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly now: number
  readonly seconds: number
}

/** Signs and verifies tokens. */
export interface ServiceAccountTokens {
  /** The issuer, which is also the audience of the server. */
  readonly issuer: string
  readonly issue: (claims: Claims) => string
  /** Verifies a token for one of the audiences. */
  readonly check: (token: string, audiences: ReadonlyArray<string>, now: number) => Verdict
  /** The public key, as a JSON Web Key. */
  readonly publicKey: () => JsonObject
}

/** The prefix of a PKCS #8 document with an Ed25519 key. The 32 bytes of the key follow. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex")

interface Keys {
  readonly secret: KeyObject
  readonly open: KeyObject
  readonly id: string
}

/** Makes tokens for the service accounts of a store, with the key that a seed determines. */
export const make = (store: Store, seed: number, issuer: string): ServiceAccountTokens => {
  let made: Keys | undefined
  // Creates the keys at first use, because most clusters issue no token.
  const keys = (): Keys => (made ??= keysOf(seed))
  return {
    issuer,
    issue: (claims) => {
      const { id, secret } = keys()
      const signed = `${encoded({ alg: "EdDSA", kid: id })}.${encoded(payloadOf(claims, issuer))}`
      return `${signed}.${sign(null, Buffer.from(signed), secret).toString("base64url")}`
    },
    check: (token, audiences, now) => {
      const [header = "", payload = "", signature = "", ...rest] = token.split(".")
      const claims = decoded(payload)
      if (rest.length > 0 || decoded(header) === undefined || claims?.iss !== issuer) return { error: invalid }
      const right = verify(null, Buffer.from(`${header}.${payload}`), keys().open, Buffer.from(signature, "base64url"))
      if (!right) return failed("go-jose/go-jose: error in cryptographic primitive")
      return verdict(store, claims, audiences, now)
    },
    publicKey: () => {
      const { id, open } = keys()
      const { crv, kty, x } = open.export({ format: "jwk" })
      return { use: "sig", kty, kid: id, crv, alg: "EdDSA", x }
    }
  }
}

const keysOf = (seed: number): Keys => {
  const bytes = createHash("sha256").update(`service account key ${seed}`).digest()
  const secret = createPrivateKey({ key: Buffer.concat([pkcs8, bytes]), format: "der", type: "pkcs8" })
  const open = createPublicKey(secret)
  const der = open.export({ format: "der", type: "spki" })
  return { secret, open, id: createHash("sha256").update(der).digest("base64url") }
}

const encoded = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const decoded = (part: string): JsonObject | undefined => {
  try {
    const value: JsonObject = JSON.parse(Buffer.from(part, "base64url").toString())
    return J.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const payloadOf = ({ account, audiences, bound, id, namespace, now, seconds }: Claims, issuer: string): JsonObject => {
  const second = Math.floor(now / 1000)
  const { node, pod, secret } = bound
  const reference = (one: Reference | undefined) =>
    one && { name: one.name, ...(one.uid !== undefined && { uid: one.uid }) }
  return {
    aud: [...audiences],
    exp: second + seconds,
    iat: second,
    iss: issuer,
    jti: id,
    "kubernetes.io": {
      namespace,
      ...(node && { node: reference(node) }),
      ...(pod && { pod: reference(pod) }),
      ...(secret && { secret: reference(secret) }),
      serviceaccount: reference(account)
    },
    nbf: second,
    sub: User.serviceAccountName(namespace, account.name)
  }
}

const invalid = "invalid bearer token"

const failed = (reason: string): Verdict => ({ error: `[${invalid}, ${reason}]` })

const inGo = (texts: ReadonlyArray<string>): string => `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`

const verdict = (store: Store, claims: JsonObject, wanted: ReadonlyArray<string>, now: number): Verdict => {
  const audiences = J.list(claims.aud).filter((item): item is string => typeof item === "string")
  const common = wanted.filter((audience) => audiences.includes(audience))
  if (common.length === 0) {
    return failed(`token audiences ${inGo(audiences)} is invalid for the target audiences ${inGo(wanted)}`)
  }
  if ((J.number(claims.exp) ?? 0) * 1000 <= now) return failed("service account token has expired")
  const { namespace: claimed, node, pod, secret, serviceaccount } = J.object(claims["kubernetes.io"])
  const namespace = J.text(claimed) ?? ""
  const nameOf = (reference: JsonObject[string]) => J.text(J.at(reference, "name")) ?? ""
  const uidOf = (reference: JsonObject[string]) => J.text(J.at(reference, "uid"))
  const account = store.get("/serviceaccounts", namespace, nameOf(serviceaccount))
  if (account === undefined) return failed(`serviceaccounts ${JSON.stringify(nameOf(serviceaccount))} not found`)
  const uid = J.text(J.at(account, "metadata", "uid"))
  if (uid !== uidOf(serviceaccount)) {
    return failed(`service account UID (${uid}) does not match claim (${uidOf(serviceaccount)})`)
  }
  const bound = [
    ["/pods", namespace, pod],
    ["/secrets", namespace, secret]
  ] as const
  for (const [storage, scope, reference] of bound) {
    if (reference === undefined) continue
    const object = store.get(storage, scope, nameOf(reference))
    if (object === undefined || J.at(object, "metadata", "uid") !== uidOf(reference)) {
      return failed("service account token has been invalidated")
    }
  }
  return {
    audiences: common,
    user: {
      name: User.serviceAccountName(namespace, nameOf(serviceaccount)),
      uid,
      groups: [...User.serviceAccountGroups(namespace), User.authenticated],
      extra: {
        "authentication.kubernetes.io/credential-id": [`JTI=${J.text(claims.jti) ?? ""}`],
        ...(node !== undefined && { "authentication.kubernetes.io/node-name": [nameOf(node)] }),
        ...(uidOf(node) !== undefined && { "authentication.kubernetes.io/node-uid": [uidOf(node) ?? ""] }),
        ...(pod !== undefined && {
          "authentication.kubernetes.io/pod-name": [nameOf(pod)],
          "authentication.kubernetes.io/pod-uid": [uidOf(pod) ?? ""]
        })
      }
    }
  }
}
