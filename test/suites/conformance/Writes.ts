/** Writes of WebApps. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Answer } from "../comparison/Server.ts"
import { pod } from "./Objects.ts"
import { about, apply, create, get, having, patch, pathOf, post, put, raw, remove, w, webapps } from "./Requests.ts"
import { webapp } from "./WebApps.ts"

const uid = "8d1f0b58-1f1e-4c7c-8f1d-0d9b9b5a5a01"
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid }
const { uid: _, ...withoutUid } = owner
const past = "2001-01-01T00:00:00Z"
const unknown = { spec: { foo: 1, image: "a" } }
const repeated = JSON.stringify(webapp("w")).replace(/\}$/, ',"spec":{"image":"a","image":"b"}}')

const withMetadata = (metadata: JsonObject) => create({ metadata })

const creations: ReadonlyArray<Dialogue> = [
  about(
    "a POST stores the object with the metadata of the server and without a status",
    create({ spec: { image: "a" }, status: { phase: "Ready" } }),
    create()
  ),
  {
    name: "the server makes a name of at most 63 characters from generateName",
    unlike: /(?<=^w-|^w{58})[bcdfghjklmnpqrstvwxz2456789]{5}$/,
    steps: ["w-", "w".repeat(70)].map((generateName) =>
      post(webapps, webapp(undefined, { metadata: { generateName } }))
    )
  },
  about(
    "the server ignores the uid and the times of a new object, and refuses a resourceVersion",
    withMetadata({ resourceVersion: "5" }),
    withMetadata({ uid, creationTimestamp: past, deletionTimestamp: past, generation: 7 })
  ),
  about(
    "a dry run does everything except storing",
    create({ spec: {} }, "w", "?dryRun=All"),
    create({}, "w", "?dryRun=Foo")
  ),
  about(
    "the server refuses a name, a namespace, a version or a kind that does not fit",
    post(webapps, webapp(undefined)),
    create({}, "Bad_Name"),
    post(webapps.replace("NAMESPACE", "nope"), webapp("w")),
    withMetadata({ namespace: "other" }),
    post(webapps, { ...webapp("w"), apiVersion: "example.com/v2" }),
    post(webapps, { ...webapp("w"), kind: "SomethingElse" })
  ),
  about(
    "the server checks labels, annotations, owner references and finalizers",
    withMetadata({ labels: { a: "a b" } }),
    withMetadata({ annotations: { a: "a".repeat(262_144) } }),
    withMetadata({ ownerReferences: [withoutUid] }),
    withMetadata({
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, controller: true, name: "p", uid: uid.replace("8", "9") }
      ]
    }),
    withMetadata({ finalizers: ["a b"] }),
    withMetadata({ ownerReferences: [owner, owner], finalizers: ["x"] })
  ),
  {
    name: "the server refuses, reports or ignores unknown and repeated fields by fieldValidation",
    steps: [
      ...[
        "?fieldValidation=Strict",
        "?fieldValidation=Foo",
        "",
        "?fieldValidation=Warn",
        "?fieldValidation=Ignore"
      ].map((query, at) => create(unknown, `w${at}`, query)),
      raw(repeated, undefined, { path: `${webapps}?fieldValidation=Strict` }),
      raw(repeated)
    ]
  }
]

const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } }

const updates: ReadonlyArray<Dialogue> = [
  about(
    "the server refuses an update of a stale object",
    create({ spec: { image: "a" } }),
    put((object) => ({ ...object, spec: { image: "b" } })),
    put((object) => ({ ...object, spec: { image: "c" } }), w, 0)
  ),
  about(
    "an update of a custom kind needs a resourceVersion, one of a built-in kind does not",
    create({ spec: { image: "a" } }),
    put((object) => having(object, { resourceVersion: null })),
    post(pathOf("configmaps"), configMap),
    { method: "PUT", path: `${pathOf("configmaps")}/c`, body: { ...configMap, data: { a: "2" } } }
  ),
  about(
    "the server refuses an update of another uid, another name or an absent object",
    create({ spec: { image: "a" } }),
    put((object) => having(object, { uid })),
    put((object) => having(object, { name: "v", uid: null }), `${webapps}/v`),
    put((object) => having(object, { name: "v" }))
  ),
  about(
    "a change of the spec raises the generation, a change of labels does not, and the server keeps its own metadata",
    create({ spec: { image: "a" } }),
    put((object) => ({ ...object, spec: { image: "b" } })),
    put((object) => having(object, { labels: { a: "b" } })),
    put((object) => having(object, { creationTimestamp: past, generation: 9, uid: null, labels: { a: "c" } }))
  )
]

const metadataOf = (answer: Answer | undefined, ...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, J.at(answer?.body, "metadata", name) ?? null]))

const patches: ReadonlyArray<Dialogue> = [
  about(
    "a merge patch removes nulls, replaces lists, and answers with the whole object",
    create({ spec: { image: "a", color: "red", args: ["a", "b"], settings: { a: "1", b: "2" } } }),
    patch("merge", { spec: { color: null, args: ["c"], settings: { a: null, c: "3" } } }),
    patch("merge", {}),
    patch("merge", {}, `${webapps}/v`),
    patch("merge", { spec: { foo: 1 } }, `${w}?fieldValidation=Strict`),
    patch("strategic", { spec: { image: "b" } })
  ),
  about(
    "a resourceVersion in a patch is a condition",
    create({ spec: {} }),
    ...["a", "b"].map(
      (image): Step =>
        ({ answers }) =>
          patch("merge", { metadata: metadataOf(answers[0], "resourceVersion"), spec: { image } })
    )
  ),
  about(
    "a JSON patch applies all of its operations or none",
    create({ spec: { image: "a", args: ["a", "b"], settings: { "x/y~z": "1" } } }),
    patch("json", [
      { op: "test", path: "/spec/image", value: "a" },
      { op: "replace", path: "/spec/image", value: "b" },
      { op: "add", path: "/spec/args/-", value: "c" },
      { op: "add", path: "/spec/args/0", value: "z" },
      { op: "remove", path: "/spec/args/1" },
      { op: "copy", from: "/spec/image", path: "/spec/color" },
      { op: "move", from: "/spec/settings/x~1y~0z", path: "/spec/settings/moved" }
    ]),
    patch("json", [{ op: "test", path: "/spec/image", value: "x" }]),
    patch("json", [{ op: "replace", path: "/spec/nothing/here", value: 1 }]),
    patch("json", [{ op: "remove", path: "/spec/nothing" }]),
    patch("json", { op: "test" }),
    raw("[{", "application/json-patch+json", { method: "PATCH", path: w }),
    patch(
      "json",
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "WebApp" }))
    )
  ),
  about(
    "an apply needs a manager, the version of its path and no uid, and only an apply can be forced",
    patch("apply", webapp("w", { spec: { image: "a" } })),
    apply("m1", { apiVersion: "example.com/v2" }),
    apply("m1", { metadata: { uid } }),
    patch("merge", webapp("w", { spec: { image: "a" } }), `${w}?force=true`)
  ),
  about(
    "the query names the manager of an update, by default the user agent",
    apply("m1", { spec: { image: "a", color: "red" } }),
    { ...patch("merge", { spec: { image: "b" } }), headers: { "user-agent": "some-agent/v1.2 (linux)" } },
    {
      ...patch("merge", { spec: { image: "c" } }, `${w}?fieldManager=named`),
      headers: { "user-agent": "some-agent/v1.2" }
    }
  )
]

const status = `${w}/status`
const scale = `${w}/scale`

const subresources: ReadonlyArray<Dialogue> = [
  about(
    "an update of the status changes nothing else, and an update of the object leaves the status",
    create({ metadata: { labels: { a: "b" } }, spec: { image: "a" } }),
    put(
      (object) => ({
        ...having(object, { labels: { a: "c" }, finalizers: ["example.com/f"] }),
        spec: { image: "b" },
        status: { phase: "Ready" }
      }),
      status
    ),
    put((object) => ({ ...object, spec: { image: "b" }, status: { phase: "Gone" } })),
    put((object) => ({ ...object, status: { phase: "Gone" } }), status, 0),
    patch("merge", { status: { replicas: "many" } }, status),
    post(status, webapp("w"))
  ),
  about(
    "the scale shows and sets the replicas",
    create({ spec: { replicas: 2 } }),
    put((object) => ({ ...object, status: { replicas: 1, selector: "app=w" } }), status),
    get(scale),
    patch("merge", { spec: { replicas: 3 } }, scale),
    get(scale),
    put((object) => ({ ...object, spec: { replicas: -1 } }), scale, 4),
    put((object) => ({ ...object, spec: { replicas: 4 } }), scale, 4),
    put((object) => ({ ...object, spec: { replicas: 5 } }), scale, 4),
    create({}, "v"),
    get(`${webapps}/v/scale`)
  )
]

const finalized = { metadata: { finalizers: ["example.com/f"] } }
const finalizers = (finalizers: ReadonlyArray<string> | null) => patch("merge", { metadata: { finalizers } })

const deletions: ReadonlyArray<Dialogue> = [
  about("a deletion answers with the deleted uid", create(), remove(), get(), remove()),
  about(
    "the server marks an object that has finalizers, and accepts no new ones and no second object",
    create(finalized),
    remove(),
    finalizers(["example.com/f", "example.com/g"]),
    remove(),
    create(),
    finalizers([])
  ),
  about(
    "a deletion keeps its preconditions",
    create({ spec: {} }),
    remove({ preconditions: { uid } }),
    finalizers(["example.com/f"]),
    finalizers(null),
    ({ answers }) => remove({ preconditions: metadataOf(answers[0], "resourceVersion") }),
    ({ answers }) => remove({ preconditions: metadataOf(answers[3], "resourceVersion", "uid") })
  ),
  about(
    "the server turns a propagation policy into a finalizer, and refuses unknown policies",
    create(),
    remove({ propagationPolicy: "Bogus" }),
    remove({ propagationPolicy: "Foreground", orphanDependents: true }),
    ...["Foreground", "Orphan"].flatMap((propagationPolicy) => [
      remove({ propagationPolicy }),
      finalizers(null),
      create()
    ])
  ),
  {
    name: "the server gives a Pod on a node its grace period, and deletes a Pod without a node at once",
    steps: [
      post(pathOf("pods"), pod("bound", { nodeName: "n" })),
      post(pathOf("pods"), pod("free")),
      ...["bound", "free"].flatMap((name) => [
        remove(undefined, `${pathOf("pods")}/${name}`),
        get(`${pathOf("pods")}/${name}`)
      ]),
      remove({ gracePeriodSeconds: 0 }, `${pathOf("pods")}/bound`),
      get(`${pathOf("pods")}/bound`)
    ]
  },
  about(
    "a deletion of a selection answers with the deleted objects, and a dry run deletes nothing",
    ...["a", "b"].map((name) => create({ metadata: { labels: { a: "b" } } }, name)),
    create({}, "c"),
    ...["&dryRun=All", ""].flatMap((query) => [remove({}, `${webapps}?labelSelector=a%3Db${query}`), get(webapps)])
  )
]

export const dialogues: ReadonlyArray<Dialogue> = [...creations, ...updates, ...patches, ...subresources, ...deletions]
