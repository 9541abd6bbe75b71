/**
 * The objects that each namespace has: the ServiceAccount `default`, and the CA certificates of the API server for pods. The controllers
 * recreate them after a deletion.
 */
import { at, equal } from "@homeostat/apiserver/model/Json"
import { annotationsOf, isDeleting, nameOf, namespaceOf, withMetadata } from "@homeostat/apiserver/model/ObjectMeta"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Snapshot } from "./BuiltInController.ts"
import * as Storages from "./Storages.ts"

/** Returns the namespace of a change of the namespace itself, or of the named object in it. */
const namespaceFor =
  (contents: string, name: string) =>
  ({ object, storage }: Change): ReadonlyArray<string> =>
    storage === contents ? (nameOf(object) === name ? [namespaceOf(object)] : []) : [nameOf(object)]

const isActive = (snapshot: Snapshot, name: string): boolean => {
  const namespace = snapshot.get(Storages.namespaces, "", name)
  return namespace !== undefined && !isDeleting(namespace)
}

/** Creates the ServiceAccount `default`. */
export const serviceAccountController: BuiltInController = {
  name: "serviceaccount-controller",
  manager: "kube-controller-manager",
  component: "serviceaccount-controller",
  storages: [Storages.namespaces, Storages.serviceAccounts],
  keys: namespaceFor(Storages.serviceAccounts, "default"),
  reconcile: (snapshot, namespace) =>
    !isActive(snapshot, namespace) || snapshot.get(Storages.serviceAccounts, namespace, "default") !== undefined
      ? nothing
      : {
          writes: [
            {
              verb: "create",
              object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } }
            }
          ]
        }
}

const bundle = "kube-root-ca.crt"

const annotations = {
  "kubernetes.io/description":
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
}

/** Publishes the CA certificates (PEM) in a ConfigMap. */
export const rootCertificates = (certificates: string): BuiltInController => {
  const data = { "ca.crt": certificates }
  return {
    name: "root-ca-certificate-publisher-controller",
    manager: "kube-controller-manager",
    component: "root-ca-cert-publisher",
    storages: [Storages.namespaces, Storages.configMaps],
    keys: namespaceFor(Storages.configMaps, bundle),
    reconcile: (snapshot, namespace) => {
      if (!isActive(snapshot, namespace)) return nothing
      const found = snapshot.get(Storages.configMaps, namespace, bundle)
      if (found === undefined) {
        const metadata = { name: bundle, namespace, annotations }
        return { writes: [{ verb: "create", object: { apiVersion: "v1", kind: "ConfigMap", metadata, data } }] }
      }
      const isDescribed = "kubernetes.io/description" in annotationsOf(found)
      return equal(at(found, "data"), data) && isDescribed
        ? nothing
        : {
            writes: [
              {
                verb: "update",
                object: {
                  ...withMetadata(found, { annotations: { ...annotationsOf(found), ...annotations } }),
                  data
                }
              }
            ]
          }
    }
  }
}
