/** Flags that several verbs share. */
import * as Result from "effect/Result"
import * as LabelSelector from "../cache/LabelSelector.ts"
import * as Flag from "./Flag.ts"

/** Parses the name of a namespace. Failure: why it is invalid. */
export const namespaceName = (name: string): Result.Result<string, string> =>
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
    ? Result.succeed(name)
    : Result.fail(`invalid namespace: "${name}" (must be lower-case letters, digits and dashes, at most 63)`)

/** Parses the name of an object. Failure: why it is invalid. */
export const objectName = (name: string): Result.Result<string, string> =>
  /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name)
    ? Result.succeed(name)
    : Result.fail(`invalid object name: "${name}" (must be lower-case letters, digits, dashes and dots, at most 253)`)

const selectorOf = (text: string): Result.Result<string, string> =>
  LabelSelector.parse(text) === undefined
    ? Result.fail(`invalid label selector: "${text}" (write it like app=web,tier in (a,b))`)
    : Result.succeed(text)

/** The message for an unknown controller. */
export const unknownController = (text: string, names: ReadonlyArray<string>): string =>
  `unknown controller: "${text}" (must be one of ${names.join(", ")})`

/** The flags of the connection to the API server. */
export const cluster = {
  kubeconfig: Flag.parsed("kubeconfig", {
    placeholder: "FILE",
    description: "A kubeconfig (default KUBECONFIG, or else the pod's service account, or else ~/.kube/config)",
    parse: (kubeconfig, origin) => Result.succeed({ kubeconfig, origin }),
    otherwise: {}
  }),
  context: Flag.text("context", {
    placeholder: "NAME",
    description: "The context of the kubeconfig (default its current context)"
  })
} as const

/** The flags that select the namespaces, objects and controllers of a manager. */
export const scope = (names: ReadonlyArray<string>) =>
  ({
    namespaces: Flag.list("namespace", {
      placeholder: "NAME",
      description: "The namespaces of the manager, repeated or separated by commas (default all)",
      check: namespaceName
    }),
    controllers: Flag.list("controllers", {
      placeholder: "NAME,…",
      description: `The controllers to run, of ${names.join(", ")} (default all)`,
      check: (name) => (names.includes(name) ? Result.succeed(name) : Result.fail(unknownController(name, names)))
    }),
    selector: Flag.parsed("selector", {
      placeholder: "LABELS",
      description: "The labels of the objects to reconcile, such as team=shop (default all objects)",
      parse: selectorOf,
      otherwise: undefined
    })
  }) as const

/** The flag for a manager that applies its own CRDs. */
export const installCrds = Flag.toggle("install-crds", {
  description: "Install or update CRDs before starting; never removes fields or tightens validation"
})

/** The flag that restricts the metrics to authorized users, which needs further permissions. */
export const metricsSecure = Flag.toggle("metrics-secure", {
  description: "Serve /metrics over TLS, only to tokens with the permission to get /metrics"
})

/** The selected controllers; all if the flag is absent. */
export const chosen = <C extends { readonly name: string }>(
  controllers: ReadonlyArray<C>,
  names: ReadonlyArray<string>
): ReadonlyArray<C> => controllers.filter(({ name }) => names.length === 0 || names.includes(name))
