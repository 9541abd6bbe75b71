/** A converged WebApp with its Deployment and Service, as an API server stores them before it adds defaults. */
import * as Intent from "@homeostat/runtime/controller/Intent"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import { defaultContainer, desiredDeployment, desiredService, labelsOf, templateOf } from "@homeostat/webapp/children"
import * as Rollback from "@homeostat/webapp/Rollback"
import { observe } from "@homeostat/webapp/status"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Result } from "effect"

const container = defaultContainer

const choiceOf = (app: WebApp, now: number): Rollback.Choice =>
  Rollback.choose(app, {
    existing: undefined,
    revisions: [],
    template: templateOf(app, container, undefined),
    labels: labelsOf(app),
    container,
    pods: [],
    troubleOf: () => undefined,
    now
  })

const applied = <A extends KubernetesObject, D extends Intent.Intended>(
  app: WebApp,
  kind: Resource.Resource<A, D>,
  desired: D
) => ({
  apiVersion: Resource.apiVersionOf(kind),
  kind: kind.kind,
  ...Intent.of(app, WebApp, Intent.keyOf(app, kind, desired), desired, undefined)
})

/** The WebApp of the wire. */
export const decoded = (wire: KubernetesObject): WebApp => Result.getOrThrow(WebApp.decode(wire))

/**
 * The Deployment and the Service that the controller applies for a new WebApp.
 *
 * @param now milliseconds since 1970
 */
export const childrenOf = (app: WebApp, now: number) => ({
  deployment: applied(app, Deployment, desiredDeployment(app, choiceOf(app, now))),
  service: applied(app, Service, desiredService(app))
})

/**
 * The status of a WebApp whose children are ready.
 *
 * @param now milliseconds since 1970
 */
export const statusOf = (app: WebApp, deployment: Deployment, service: Service, now: number) => {
  const rollback = choiceOf(app, now)
  const scaling = { by: "Spec", replicas: app.spec.replicas, isWanted: false } as const
  const { conditions = [], ...status } = observe(app, {
    ...{ deployment: { object: deployment }, service: { object: service } },
    ...{ pods: [], scaling, container, rollback, now }
  })
  const lastTransitionTime = `${new Date(now).toISOString().slice(0, 19)}Z`
  const observedGeneration = app.metadata.generation ?? 0
  return { ...status, conditions: conditions.map((each) => ({ observedGeneration, ...each, lastTransitionTime })) }
}
