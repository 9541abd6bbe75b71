/** Dialogues about valid and invalid CRDs and custom objects. */

import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import { WebApp } from "@homeostat/webapp/WebApp"
import { type Dialogue, type Step, withoutRevision } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import type { Request } from "../comparison/Server.ts"
import * as Backups from "./Backups.ts"
import * as DefaultStatuses from "./DefaultStatuses.ts"
import * as Definitions from "./Definitions.ts"
import * as Gauges from "./Gauges.ts"
import * as Objects from "./Objects.ts"
import * as Ratchets from "./Ratchets.ts"

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const objectsPath = (plural: string) => `/apis/crd.example.com/v1/namespaces/NAMESPACE/${plural}`
const dry = "?dryRun=All"

const post = (path: string, body: JsonObject): Request => ({ method: "POST", path, body })

const object = (plural: string, more: JsonObject): JsonObject => ({
  apiVersion: "crd.example.com/v1",
  kind: Definitions.kindOf(plural),
  metadata: { name: "a" },
  ...more
})

/** Creates a CRD, and waits until a kube-apiserver accepts objects of the kind, two seconds later. */
const define = (plural: string, definition: JsonObject): ReadonlyArray<Request> => [
  post(definitionsPath, definition),
  { method: "GET", path: objectsPath(plural), until: { status: 200 }, pauseMillis: 2_100 }
]

/** A dry run that replaces the object which the step `index` stored. */
const replaceStored =
  (index: number, plural: string, more: JsonObject, below = ""): Step =>
  ({ answers }) => ({
    method: "PUT",
    path: `${objectsPath(plural)}/a${below}${dry}`,
    body: { ...J.object(answers[index]?.body), ...more }
  })

/** The words of a CEL compiler. */
const compilers = /(?<=compilation failed: ERROR: <input>:).*/s

const definitions: ReadonlyArray<Dialogue> = [
  ...Object.entries(Definitions.definitions).map(([about, definition]) => ({
    name: `a definition: ${about}`,
    steps: [post(`${definitionsPath}${dry}`, definition)]
  })),
  ...Definitions.uncompilable.map((rule) => ({
    name: `a rule that does not compile: ${rule}`,
    unlike: compilers,
    steps: [post(`${definitionsPath}${dry}`, Definitions.ruled({ rule }))]
  })),
  {
    name: "a definition loses names to an older one",
    steps: [
      ...define("firsts", Definitions.first),
      post(definitionsPath, Definitions.second),
      {
        method: "GET",
        path: `${definitionsPath}/seconds.crd.example.com`,
        until: { body: { status: { conditions: [{}, {}] } } }
      }
    ]
  }
]

/** A dialogue for each object of a kind. */
const created = (about: string, plural: string, objects: ReadonlyArray<JsonObject>): ReadonlyArray<Dialogue> =>
  objects.map((more) => ({
    name: `${about}: ${JSON.stringify(more)}`,
    steps: [post(`${objectsPath(plural)}${dry}`, object(plural, more))]
  }))

const objects: ReadonlyArray<Dialogue> = [
  ...created("the server prunes, defaults and validates an object", "widgets", [
    ...Objects.specs.map((spec) => ({ spec: { name: "abc", ...spec } })),
    ...Objects.wholes
  ]),
  ...created(
    "a string with a format",
    "widgets",
    Object.entries(Objects.texts).flatMap(([format, texts]) =>
      texts.map((text) => ({ spec: { name: "abc", [format]: text } }))
    )
  ),
  ...created(
    "a Backup",
    "backups",
    Backups.specs.map((spec) => ({ spec }))
  )
]

const rules: ReadonlyArray<Dialogue> = [
  ...[...Gauges.rules.map((rule) => ({ rule })), ...Gauges.messages].map((rule, index) => {
    const plural = `gauge${index}s`
    const [definition, spec] = Gauges.gauge(rule, plural)
    return {
      name: `an object keeps or breaks a rule: ${JSON.stringify(rule)}`,
      steps: [...define(plural, definition), post(`${objectsPath(plural)}${dry}`, object(plural, { spec }))]
    }
  }),
  ...Gauges.changes.map(([rule, old, next], index) => {
    const plural = `change${index}s`
    return {
      name: `a change keeps or breaks a rule: ${JSON.stringify(rule)}, ${JSON.stringify(next)}`,
      steps: [
        ...define(plural, Gauges.gauges(rule, plural)),
        post(objectsPath(plural), object(plural, { spec: old })),
        replaceStored(2, plural, { spec: next })
      ]
    }
  })
]

/** Stores an object under a loose schema, and changes it under a strict one. */
const ratchet = (plural: string, changes: ReadonlyArray<Step>): ReadonlyArray<Step> => [
  ...define(plural, Ratchets.loose(plural)),
  post(objectsPath(plural), object(plural, { spec: Ratchets.spec })),
  ({ answers }) => ({
    method: "PUT",
    path: `${objectsPath(plural)}/a/status`,
    body: { ...J.object(answers[2]?.body), status: { phase: "Old" } }
  }),
  {
    method: "PATCH",
    path: `${definitionsPath}/${plural}.crd.example.com`,
    body: { spec: Ratchets.strict(plural).spec ?? null },
    contentType: "application/merge-patch+json"
  },
  // Waits until the server uses the new schema.
  {
    ...post(`${objectsPath(plural)}${dry}`, object(plural, { metadata: { name: "b" }, spec: { all: "long" } })),
    until: { status: 422 }
  },
  ...changes
]

const ratchets: ReadonlyArray<Dialogue> = [
  {
    name: "an object may keep values that its kind no longer allows",
    steps: ratchet(
      "ratchets",
      Ratchets.next.map((spec) => replaceStored(3, "ratchets", { spec }))
    )
  },
  {
    name: "an object may keep a status that its kind no longer allows",
    steps: ratchet(
      "latches",
      Ratchets.statuses.map((status) => replaceStored(3, "latches", { spec: {}, status }, "/status"))
    )
  }
]

const merge = (path: string, body: JsonObject): Request => ({
  method: "PATCH",
  path,
  body,
  contentType: "application/merge-patch+json"
})

const apply = (path: string, body: JsonObject): Request => ({
  method: "PATCH",
  path: `${path}?fieldManager=applier`,
  body,
  contentType: "application/apply-patch+yaml"
})

/** Replaces the object of the step before, with the same resourceVersion. */
const replaceLatest =
  (plural: string, below: string): Step =>
  ({ live }) => {
    const { status: _, ...object } = J.object(live)
    return { method: "PUT", path: `${objectsPath(plural)}/a${below}`, body: object }
  }

const defaultStatuses: ReadonlyArray<Dialogue> = [
  {
    name: "an object without a status gets the default status of its kind",
    reads: `${objectsPath("marks")}/a`,
    compared: withoutRevision,
    steps: [
      ...define("marks", DefaultStatuses.defaulted("marks")),
      post(`${objectsPath("marks")}${dry}`, object("marks", { spec: {} })),
      // The server drops the status of a new object.
      post(objectsPath("marks"), object("marks", { spec: {}, status: { observedGeneration: 3, phase: "New" } })),
      { method: "GET", path: objectsPath("marks") },
      merge(`${objectsPath("marks")}/a`, {}),
      merge(`${objectsPath("marks")}/a`, { status: { phase: "New" } }),
      merge(`${objectsPath("marks")}/a/status`, { status: { phase: "Old" } }),
      merge(`${objectsPath("marks")}/a/status`, { status: { observedGeneration: 1 } }),
      merge(`${objectsPath("marks")}/a/status`, { status: null }),
      replaceLatest("marks", ""),
      replaceLatest("marks", "/status"),
      apply(`${objectsPath("marks")}/a`, object("marks", { spec: { a: "1" } })),
      apply(`${objectsPath("marks")}/a`, object("marks", { spec: { a: "1" } }))
    ]
  },
  {
    name: "an applied object without a status gets the default status of its kind",
    reads: `${objectsPath("stamps")}/a`,
    steps: [
      ...define("stamps", DefaultStatuses.defaulted("stamps")),
      apply(`${objectsPath("stamps")}/a`, object("stamps", { spec: {}, status: { phase: "New" } })),
      apply(`${objectsPath("stamps")}/a`, object("stamps", { spec: {} }))
    ]
  },
  {
    name: "a stored object without a status gets the later default status of its kind",
    reads: `${objectsPath("relics")}/a`,
    compared: withoutRevision,
    steps: [
      ...define("relics", DefaultStatuses.plain("relics")),
      post(objectsPath("relics"), object("relics", { spec: {} })),
      merge(`${definitionsPath}/relics.crd.example.com`, {
        spec: DefaultStatuses.defaulted("relics").spec ?? null
      }),
      {
        method: "GET",
        path: `${objectsPath("relics")}/a`,
        until: { body: { status: { observedGeneration: -1 } } },
        pauseMillis: 2_100
      },
      { method: "GET", path: objectsPath("relics") },
      merge(`${objectsPath("relics")}/a`, {}),
      merge(`${objectsPath("relics")}/a/status`, { status: { observedGeneration: 1 } })
    ]
  }
]

const webApp = Crd.of(WebApp)
const [version] = webApp.spec.versions
const webApps: ReadonlyArray<Dialogue> = Objects.webApps.map((spec) => ({
  name: `a WebApp: ${JSON.stringify(spec)}`,
  steps: [
    post(`/apis/${webApp.spec.group}/${version?.name}/namespaces/NAMESPACE/${webApp.spec.names.plural}${dry}`, {
      apiVersion: `${webApp.spec.group}/${version?.name}`,
      kind: webApp.spec.names.kind,
      metadata: { name: "a" },
      spec
    })
  ]
}))

const named = (definition: JsonObject): CustomResourceDefinition => ({
  ...definition,
  metadata: J.texts(definition.metadata)
})

export const crd: Suite = {
  name: "crd",
  definitions: [...[Objects.everything, Backups.backups].map(named), webApp],
  dialogues: [...definitions, ...objects, ...rules, ...ratchets, ...defaultStatuses, ...webApps]
}
