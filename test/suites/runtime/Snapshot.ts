/** WebApps and the resourceVersions of all objects that their manager writes. */
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Event, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"

export const create = (namespace: string, name: string) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:1", replicas: 1 } })

const versionsOf = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  namespace: string,
  counts: (object: A) => boolean = () => true
) =>
  Effect.map(Client.list(kind, { namespace }), ({ items }) =>
    items
      .filter(counts)
      .map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.resourceVersion}`)
      .sort()
  )

/** Excludes Events about Deployments, which kube-controller-manager sends late. */
export const snapshot = (namespace: string) =>
  Effect.map(
    Effect.all([
      versionsOf(WebApp, namespace),
      versionsOf(Deployment, namespace),
      versionsOf(Service, namespace),
      versionsOf(Event, namespace, ({ regarding }) => regarding?.kind === WebApp.kind)
    ]),
    (lists) => lists.flat()
  )
