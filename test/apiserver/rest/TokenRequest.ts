/**
 * `serviceaccounts/token`: a new token for a service account.
 */

import type { Claims, Reference } from "../access/ServiceAccountTokens.ts"
import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import * as Shape from "../kinds/Shape.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import { nameOf, namespaceOf, uidOf } from "../model/ObjectMeta.ts"
import { schemaNamed } from "../model/OpenApiDefinitions.ts"
import { quote } from "../model/Quote.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as Read from "./Read.ts"

const kind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }

/** The kind of the request's body. */
export const named = (): Pick<Kind, "group" | "version" | "kind" | "schema"> => ({
  ...kind,
  schema: schemaNamed("io.k8s.api.authentication.v1.TokenRequest")
})

const defaultSeconds = 3600

/** Responds to a TokenRequest with a token. Throws a Failure. */
export const answer = (
  state: ServerState,
  accounts: Kind,
  namespace: string,
  name: string,
  sent: JsonObject,
  options: WriteOptions
): JsonObject => {
  if (!["", name].includes(nameOf(sent))) {
    const detail = "must match the service account name if specified"
    throw Failure.invalid({ ...kind, plural: "" }, name, [FieldError.invalid("metadata.name", nameOf(sent), detail)])
  }
  if (!["", namespace].includes(namespaceOf(sent))) {
    throw Failure.badRequest("the namespace of the provided object does not match the namespace sent on the request")
  }
  const account = Read.get(state, accounts, namespace, name)
  const { tokens, now } = { tokens: state.authentication.serviceAccounts, now: options.now }
  const spec = J.object(sent.spec)
  const requested = J.list(spec.audiences).filter((item): item is string => typeof item === "string")
  const audiences = requested.length === 0 ? [tokens.issuer] : requested
  const seconds = J.number(spec.expirationSeconds) ?? defaultSeconds
  checkSeconds(seconds)
  const reference = J.isObject(spec.boundObjectRef) ? spec.boundObjectRef : undefined
  const bound = reference === undefined ? {} : boundTo(state, namespace, name, reference)
  const draft = {
    kind: kind.kind,
    apiVersion: `${kind.group}/${kind.version}`,
    metadata: { name, namespace, uid: uidOf(account), creationTimestamp: timestamp(now) },
    spec: {
      ...(requested.length > 0 && { audiences }),
      expirationSeconds: seconds,
      ...(reference && { boundObjectRef: reference })
    }
  }
  const managed = ManagedFields.updated(
    {
      kind: { ...accounts, ...named(), zero: Shape.zero(Shape.of("authentication/v1.TokenRequest")) },
      kindIn: () => undefined,
      manager: options.manager,
      subresource: "token",
      resetFields: [],
      now
    },
    undefined,
    J.copy(draft)
  )
  const token = tokens.issue({
    audiences,
    namespace,
    account: { name, uid: uidOf(account) },
    bound,
    id: state.identity.uid(),
    now,
    seconds
  })
  return {
    ...draft,
    metadata: J.object(managed.metadata),
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: reference ?? null },
    status: { token, expirationTimestamp: timestamp(Math.floor(now / 1000) * 1000 + seconds * 1000) }
  }
}

const checkSeconds = (seconds: number): void => {
  const detail =
    seconds < 600
      ? "may not specify a duration less than 10 minutes"
      : seconds > 2 ** 32
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined
  if (detail === undefined) return
  throw Failure.invalid({ ...kind, plural: "" }, "", [FieldError.invalid("spec.expirationSeconds", seconds, detail)])
}

const plurals: { readonly [kind: string]: string } = { Pod: "pods", Node: "nodes", Secret: "secrets" }

/** The object that limits the lifetime of the token, and its node. Throws a Failure. */
const boundTo = (state: ServerState, namespace: string, account: string, reference: JsonObject): Claims["bound"] => {
  const [type, name, version] = [reference.kind, reference.name, reference.apiVersion].map((text) => J.text(text) ?? "")
  const plural = Object.hasOwn(plurals, type ?? "") && !version?.includes("/") ? plurals[type ?? ""] : undefined
  if (plural === undefined) {
    const group = version?.includes("/") ? version : `/${version}`
    throw Failure.badRequest(`cannot bind token to object of type ${group}, Kind=${type}`)
  }
  if (name === undefined || name === "") throw Failure.badRequest("Name parameter required.")
  const object = state.store.get(`/${plural}`, plural === "nodes" ? "" : namespace, name)
  if (object === undefined) throw Failure.notFound({ group: "", kind: type ?? "", plural }, name)
  if (plural === "pods" && J.at(object, "spec", "serviceAccountName") !== account) {
    throw Failure.badRequest(
      `cannot bind token for serviceaccount ${quote(account)} to pod running with different serviceaccount name.`
    )
  }
  const uid = J.text(reference.uid) ?? ""
  if (uid !== "" && uid !== uidOf(object)) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw Failure.conflict({ group: "", kind: type ?? "", plural: type ?? "" }, name, why)
  }
  const bound: Reference = { name, uid: uidOf(object) }
  if (plural !== "pods") return { [plural.slice(0, -1)]: bound }
  const node = J.text(J.at(object, "spec", "nodeName")) ?? ""
  if (node === "") return { pod: bound }
  const found = state.store.get("/nodes", "", node)
  return { pod: bound, node: { name: node, ...(found !== undefined && { uid: uidOf(found) }) } }
}
