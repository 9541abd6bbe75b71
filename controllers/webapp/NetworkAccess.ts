/** The access to the pods of a WebApp over the network: its field in the spec, the NetworkPolicy, and the condition. Pure. */
import type { NetworkPolicy } from "@homeostat/runtime/resource/BuiltIn"
import type * as Condition from "@homeostat/runtime/resource/Condition"
import * as Field from "@homeostat/runtime/resource/Field"
import type { Desired, KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Schema from "effect/Schema"
import type * as Selector from "./Selector.ts"

const name = Schema.String.check(Schema.isMaxLength(63), Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/))

const labels = Schema.Record(
  Schema.String,
  Schema.String.check(Schema.isMaxLength(63), Schema.isPattern(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/))
)

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

const range = Schema.String.check(Schema.isMaxLength(49)).pipe(
  Field.rule({
    // The API server refuses a NetworkPolicy with other bits, and the pods would run without it.
    rule: "isCIDR(self) && cidr(self) == cidr(self).masked()",
    message: "must be an address range such as 10.0.0.0/8, without bits after the prefix"
  })
)

/** The clients that may connect. The fields of one entry narrow it down together. */
const Peer = Schema.Struct({
  namespace: optional(name, "The name of their namespace; that of the WebApp by default."),
  namespaceLabels: optional(labels, "Labels of their namespaces, in place of a name; {} for all namespaces."),
  webApp: optional(name, "The name of the WebApp to which their pods belong."),
  podLabels: optional(labels, "Labels of their pods, in place of a WebApp; {} for all pods."),
  cidr: optional(range, "Their range of IP addresses, such as 10.0.0.0/8, outside the pods of the cluster."),
  except: optional(
    Schema.Array(range).check(Schema.isMaxLength(20)).pipe(Field.listSet),
    "Ranges within cidr that may not connect."
  )
}).pipe(
  Field.rule({
    rule: "has(self.cidr) != (has(self.__namespace__) || has(self.namespaceLabels) || has(self.webApp) || has(self.podLabels))",
    message: "set either cidr, or a namespace, a WebApp or labels"
  }),
  Field.rule({
    rule: "!has(self.__namespace__) || !has(self.namespaceLabels)",
    message: "set at most one of namespace and namespaceLabels"
  }),
  Field.rule({
    rule: "!has(self.webApp) || !has(self.podLabels)",
    message: "set at most one of webApp and podLabels"
  }),
  Field.rule({
    rule: "!has(self.except) || has(self.cidr) && self.except.all(each, cidr(self.cidr).containsCIDR(each) && cidr(each).prefixLength() > cidr(self.cidr).prefixLength())",
    message: "except must have ranges within cidr"
  })
)

/** The clients that may connect to the pods. */
export const NetworkAccess = Schema.Struct({
  allowFrom: Schema.Array(Peer).check(Schema.isMaxLength(50)).annotate({
    description: "The clients that may connect to the port. All others are refused; with [] every client is."
  })
})

/**
 * The managed-by labels of the pods of WebApps, and their label `app`. A pod of an adopted Deployment has another label `app` if its
 * selector asks for it.
 */
const podsOf = (webApp: string, managers: ReadonlyArray<string>): Selector.Selector => ({
  matchLabels: { app: webApp },
  matchExpressions: [{ key: "app.kubernetes.io/managed-by", operator: "In", values: [...managers] }]
})

type From = NonNullable<NonNullable<NonNullable<NetworkPolicy["spec"]>["ingress"]>[number]["from"]>[number]

const fromOf = (peer: typeof Peer.Type, managers: ReadonlyArray<string>): From => {
  const { cidr, except, namespace, namespaceLabels, podLabels, webApp } = peer
  if (cidr !== undefined) return { ipBlock: { cidr, ...(except === undefined ? {} : { except }) } }
  const namespaces = namespace === undefined ? namespaceLabels : { "kubernetes.io/metadata.name": namespace }
  const pods = webApp !== undefined ? podsOf(webApp, managers) : podLabels && { matchLabels: podLabels }
  return {
    ...(namespaces === undefined ? {} : { namespaceSelector: { matchLabels: namespaces } }),
    ...(pods === undefined ? {} : { podSelector: pods })
  }
}

interface App extends KubernetesObject {
  readonly spec: { readonly port: number; readonly networkPolicy?: typeof NetworkAccess.Type }
}

/**
 * The policy for the pods. It does not limit what they connect to.
 *
 * @param managers the managed-by labels of the pods of WebApps
 */
export const desired = (
  { metadata: { name }, spec: { port } }: App,
  { allowFrom }: typeof NetworkAccess.Type,
  selector: Selector.Selector,
  labels: Selector.Labels,
  managers: ReadonlyArray<string>
): Desired<NetworkPolicy> => ({
  metadata: { name, labels },
  spec: {
    podSelector: selector,
    policyTypes: ["Ingress"],
    // A rule with an empty list would allow all clients.
    ingress:
      allowFrom.length === 0
        ? []
        : [{ from: allowFrom.map((peer) => fromOf(peer, managers)), ports: [{ port, protocol: "TCP" }] }]
  }
})

/** The fields that the controller owns alone: another rule would allow more clients. */
export const exclusive = [
  ["spec", "ingress"],
  ["spec", "podSelector"]
] as const

/** The type of the condition. */
export const conditionType = "NetworkPolicyReady"

/**
 * The condition NetworkPolicyReady; undefined without `spec.networkPolicy`.
 *
 * @param problem why the policy could not be applied
 */
export const condition = (
  { metadata, spec }: App,
  problem: { readonly reason: string; readonly message: string } | undefined
): Condition.Draft | undefined => {
  if (spec.networkPolicy === undefined) return undefined
  const type = conditionType
  if (problem !== undefined) return { type, status: "False", ...problem }
  const message =
    spec.networkPolicy.allowFrom.length === 0
      ? `NetworkPolicy ${metadata.name} refuses all clients`
      : `NetworkPolicy ${metadata.name} allows the clients of spec.networkPolicy to connect to port ${spec.port}`
  return { type, status: "True", reason: "Applied", message }
}
