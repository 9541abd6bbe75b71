/** Flags that several verbs have, each with one meaning. */
import * as Either from "effect/Either"
import * as LabelSelector from "../cache/LabelSelector.ts"
import * as Flag from "./Flag.ts"

/** A name of a namespace, or what is wrong with it. */
export const namespaceName = (name: string): Either.Either<string, string> =>
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
    ? Either.right(name)
    : Either.left(`invalid namespace: "${name}" (must be lower-case letters, digits and dashes, at most 63)`)

/** A name of an object, or what is wrong with it. */
export const objectName = (name: string): Either.Either<string, string> =>
  /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name)
    ? Either.right(name)
    : Either.left(`invalid object name: "${name}" (must be lower-case letters, digits, dashes and dots, at most 253)`)

const selectorOf = (text: string): Either.Either<string, string> =>
  LabelSelector.parse(text) === undefined
    ? Either.left(`invalid label selector: "${text}" (write it like app=web,tier in (a,b))`)
    : Either.right(text)

/** Why a name was refused that should have been a controller's. */
export const unknownController = (text: string, names: ReadonlyArray<string>): string =>
  `unknown controller: "${text}" (must be one of ${names.join(", ")})`

/** Which API server, and as whom. */
export const cluster = {
  kubeconfig: Flag.parsed("kubeconfig", {
    placeholder: "FILE",
    description: "A kubeconfig; default KUBECONFIG, else the pod's service account, else ~/.kube/config",
    parse: (kubeconfig, origin) => Either.right({ kubeconfig, origin }),
    otherwise: {}
  }),
  context: Flag.text("context", {
    placeholder: "NAME",
    description: "The context of the kubeconfig; default its current one"
  })
} as const

/** What of the cluster a manager sees, and which of the program's controllers it runs. */
export const scope = (names: ReadonlyArray<string>) =>
  ({
    namespaces: Flag.list("namespace", {
      placeholder: "NAME",
      description: "Only see objects of this namespace, or of several (repeated, or with commas); default all",
      check: namespaceName
    }),
    controllers: Flag.list("controllers", {
      placeholder: "NAME,…",
      description: `Only run these controllers, of ${names.join(", ")}; default all`,
      check: (name) => (names.includes(name) ? Either.right(name) : Either.left(unknownController(name, names)))
    }),
    selector: Flag.parsed("selector", {
      placeholder: "LABELS",
      description: "Only see objects with these labels, of the kinds that are reconciled",
      parse: selectorOf,
      otherwise: undefined
    })
  }) as const

/** Whether a manager applies its CRDs, where that narrows nothing. */
export const installCrds = Flag.toggle("install-crds", {
  description: "Apply the CustomResourceDefinitions before starting, but never narrow those of the cluster"
})

/** Whether who reads the metrics has to be allowed to: running takes a right more for that. */
export const metricsSecure = Flag.toggle("metrics-secure", {
  description: "Serve /metrics over TLS, and only to tokens that the API server knows and allows to get /metrics"
})

/** The controllers that were asked for: all, if none was named. */
export const chosen = <C extends { readonly name: string }>(
  controllers: ReadonlyArray<C>,
  names: ReadonlyArray<string>
): ReadonlyArray<C> => controllers.filter(({ name }) => names.length === 0 || names.includes(name))
