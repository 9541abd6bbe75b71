/** The story of objects that enter and leave a selection, by their labels and by their content, and news that a predicate refuses. */
import { BuiltIn, Client, Controller, Owned, Patch, Predicate, Result } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect } from "effect"

const annotation = "example.com/copy"

/** A ConfigMap that is selected has a Secret. Its clean-up removes the Secret, because the ConfigMap may live on. */
const controller = Controller.make("copies", {
  for: BuiltIn.ConfigMap,
  select: { labels: "copied=yes", namespaces: ["default"] },
  when: ({ metadata }) => metadata.annotations?.[annotation] !== undefined,
  predicate: Predicate.or(Predicate.annotationsChanged, Predicate.labelsChanged),
  owns: [Owned.kind(BuiltIn.Secret, { removes: true })],
  finalizer: {
    name: "example.com/copies",
    cleanup: (map) => Effect.as(Owned.remove(map, BuiltIn.Secret, { name: map.metadata.name }), Result.done)
  },
  reconcile: (map) =>
    Effect.as(
      Owned.apply(map, BuiltIn.Secret, {
        metadata: { name: map.metadata.name },
        stringData: { copy: map.metadata.annotations?.[annotation] ?? "" }
      }),
      Result.done
    )
})

/** The object of the story, and two that are never selected: by the label, and by the namespace. */
export const mine = { namespace: "default", name: "mine" }
export const others = [
  { metadata: { namespace: "default", name: "theirs", annotations: { [annotation]: "x" } } },
  {
    metadata: {
      namespace: "kube-public",
      name: "theirs",
      labels: { copied: "yes" },
      annotations: { [annotation]: "x" }
    }
  }
]

const change = (metadata: object) => Client.patch(BuiltIn.ConfigMap, mine, Patch.merge({ metadata }))
const annotated = (value: string | null) => change({ annotations: { [annotation]: value } })
const labelled = (labels: object) => change({ labels })

/** The steps select the object and leave the selection in each way, and then delete it outside of the selection. */
export const story = Explore.story({
  controllers: [controller],
  steps: [
    Explore.step(
      "create",
      Effect.andThen(
        Effect.forEach(others, (other) => Client.create(BuiltIn.ConfigMap, other)),
        Client.create(BuiltIn.ConfigMap, {
          metadata: { ...mine, labels: { copied: "yes" }, annotations: { [annotation]: "one" } }
        })
      )
    ),
    Explore.step("annotation removed", annotated(null)),
    Explore.step("annotation added", annotated("two")),
    Explore.step("label removed", labelled({ copied: null })),
    Explore.step("label added", labelled({ copied: "yes" })),
    Explore.step("news refused", Client.patch(BuiltIn.ConfigMap, mine, Patch.merge({ data: { a: "b" } }))),
    Explore.step("news accepted", annotated("three")),
    Explore.step("both removed", change({ labels: { copied: null }, annotations: { [annotation]: null } })),
    Explore.step("delete", Client.delete(BuiltIn.ConfigMap, mine))
  ]
})
