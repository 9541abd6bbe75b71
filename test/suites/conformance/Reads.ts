/** Reads of objects, lists, selections and tables. */
import type { Dialogue } from "../comparison/Dialogue.ts"
import { pod } from "./Objects.ts"
import { create, get, pathOf, post, raw, webapps } from "./Requests.ts"
import { webapp } from "./WebApps.ts"

const selected = (parameter: "label" | "field", selector: string, path = webapps) =>
  get(`${path}?${parameter}Selector=${encodeURIComponent(selector)}`)

const labelled = (name: string, value = "b") => create({ metadata: { labels: { a: value } } }, name)

const metadata = (kind: string): Partial<{ readonly accept: string }> => ({
  accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`
})

/** 3 h, 30 min and 30 s in milliseconds: the server shows it as 3h30m. */
const age = 12_630_000

export const dialogues: ReadonlyArray<Dialogue> = [
  { name: "an absent object is not found", headers: ["content-type"], steps: [get()] },
  {
    name: "label selectors select",
    steps: [
      create({}, "none"),
      ...["b", "c", "d"].map((value) => labelled(value, value)),
      ...["a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)", "!a", "a", "a,a!=b", ""].map((selector) =>
        selected("label", selector)
      )
    ]
  },
  {
    name: "field selectors select by name, by namespace and by the selectable fields of the kind",
    steps: [
      create({ spec: { color: "red" } }, "v"),
      create({ spec: { color: "blue" } }),
      ...["metadata.name=w", "metadata.name!=w", "spec.color=red"].map((selector) => selected("field", selector)),
      selected("field", "metadata.namespace=NAMESPACE", "/apis/example.com/v1/webapps"),
      post(pathOf("pods"), pod("a", { nodeName: "n" })),
      post(pathOf("pods"), pod("b")),
      ...["spec.nodeName=n", "spec.nodeName=", "status.phase=Pending,metadata.name!=a", "status.phase=Running"].map(
        (selector) => selected("field", selector, pathOf("pods"))
      )
    ]
  },
  {
    name: "a client can ask for metadata only, and for rows with a part of the object",
    steps: [
      create({ spec: {} }),
      get(webapps, metadata("PartialObjectMetadataList")),
      get(undefined, metadata("PartialObjectMetadata")),
      get(webapps, metadata("PartialObjectMetadata")),
      ...["None", "Metadata", "Object", "Bogus"].map((include) =>
        get(`${webapps}?includeObject=${include}`, metadata("Table"))
      )
    ]
  },
  {
    name: "the columns of a Table are null without a value of their type, and an age for a date",
    steps: [
      ({ now }) => create({ spec: { startedAt: new Date(now - (now % 1000) - age).toISOString(), color: "red" } }, "a"),
      create({ spec: { color: "7", replicas: 2, image: "a" } }, "b"),
      get(webapps, metadata("Table"))
    ]
  },
  {
    name: "the server reads and writes YAML, and refuses unknown media types",
    headers: ["content-type"],
    steps: [
      raw("apiVersion: example.com/v1\nkind: WebApp\nmetadata: {name: w}\nspec:\n  image: a\n", "application/yaml"),
      get(undefined, { accept: "application/yaml" }),
      get(webapps, { accept: "application/foo" }),
      raw(JSON.stringify(webapp("v")), "text/plain")
    ]
  }
]
