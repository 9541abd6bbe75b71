/** A server whose admission policy changes a value. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "../webapp/ByHand.ts"
import * as Scene from "../webapp/Scene.ts"

const group = "/apis/admissionregistration.k8s.io/v1"

const create = (plural: string, kind: string, name: string, spec: object) =>
  Effect.acquireRelease(
    Client.raw({
      method: "POST",
      path: `${group}/${plural}`,
      body: JSON.stringify({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind,
        metadata: { name },
        spec
      })
    }),
    () => Effect.ignore(Client.raw({ method: "DELETE", path: `${group}/${plural}/${name}` }))
  )

/** A policy that sets a label of every Deployment in a namespace. */
const labelling = (namespace: string, label: string, value: string) =>
  Effect.andThen(
    create("mutatingadmissionpolicies", "MutatingAdmissionPolicy", namespace, {
      reinvocationPolicy: "Never",
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["CREATE", "UPDATE"] }
        ]
      },
      matchConditions: [{ name: "here", expression: `request.namespace == "${namespace}"` }],
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression: `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("${label}"), value: "${value}"}]`
          }
        }
      ]
    }),
    create("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", namespace, { policyName: namespace })
  )

const label = "app.kubernetes.io/managed-by"

/** Waits until the policy is in effect. */
const inForce = (scene: Scene.Scene) =>
  Managed.eventually(
    "the policy in effect",
    Client.create(
      Deployment,
      {
        metadata: { namespace: scene.namespace, name: "probe", labels: { [label]: "probe" } },
        spec: {
          selector: { matchLabels: { app: "probe" } },
          template: {
            metadata: { labels: { app: "probe" } },
            spec: { containers: [{ name: "a", image: "registry.test/a" }] }
          }
        }
      },
      { dryRun: true }
    ),
    ({ metadata }) => metadata.labels?.[label] === "policy"
  )

describe("A value that an admission policy replaces", () => {
  Scene.real.managed(
    "causes one report and no fight, and the manager reverts changes of users",
    ({ manager, ...scene }) =>
      Effect.gen(function* () {
        yield* labelling(scene.namespace, label, "policy")
        yield* inForce(scene)
        yield* Scene.launch(scene, "shop", {
          image: "registry.test/web:1",
          replicas: 1,
          resources: { limits: { cpu: "1000m", memory: "1024Mi" } }
        })
        yield* Scene.quiet(scene, "shop")
        for (let replicas = 2; replicas < 6; replicas++) {
          yield* ByHand.scale(scene, Deployment, replicas)
          yield* Managed.eventually(
            "the corrected replicas",
            Scene.deployment(scene, "shop"),
            ({ spec }) => spec?.replicas === 1
          )
        }
        yield* Scene.settled(scene, "shop")
        expect(
          manager.recorded().flatMap(({ note, reason, type }) => (type === "Warning" ? [`${reason}: ${note}`] : []))
        ).toEqual([
          `FieldAltered: The API server stores another value than the controller sent: metadata.labels.${label} of Deployment ${scene.namespace}/shop (changed by a mutating webhook, probably). The controller accepts the stored value. Exempt the object from the change, or write the stored value.`
        ])
        expect((yield* Scene.deployment(scene, "shop")).metadata.labels?.[label]).toBe("policy")
      })
  )
})
