/** Pods with the admission plugin ServiceAccount, as dialogues. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import { post } from "../admission/Objects.ts"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"

const space = "/api/v1/namespaces/NAMESPACE"

const account = (name: string, more: JsonObject = {}, annotations: JsonObject = {}): Step =>
  post(`${space}/serviceaccounts`, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, annotations },
    ...more
  })

const container: JsonObject = { name: "c", image: "i" }

const pod = (spec: JsonObject, annotations: JsonObject = {}): Step =>
  post(`${space}/pods?dryRun=All`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", annotations },
    spec: { containers: [container], ...spec }
  })

/** The body without the random suffix of a volume's name. */
const compared = (_: string, body: Json): Json =>
  JSON.parse(JSON.stringify(body).replace(/(?<=kube-api-access-)[a-z0-9]{5}/g, "XXXXX"))

const dialogue = (name: string, ...steps: ReadonlyArray<Step>): Dialogue => ({ name, compared, steps })

const fromSecret = { name: "A", valueFrom: { secretKeyRef: { name: "other", key: "a" } } }
const mounted = { name: "own", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }
const enforced = { "kubernetes.io/enforce-mountable-secrets": "true" }
const mirror = { "kubernetes.io/config.mirror": "x" }

const dialogues: ReadonlyArray<Dialogue> = [
  dialogue(
    "a pod of a missing account",
    pod({}),
    pod({ serviceAccountName: "worker" }),
    post(`${space}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { generateName: "p-" },
      spec: { serviceAccount: "worker", containers: [container] }
    })
  ),
  dialogue(
    "a pod of the default account",
    account("default"),
    pod({}),
    pod({ containers: [container, { ...container, name: "d" }], initContainers: [{ ...container, name: "i" }] }),
    pod({ automountServiceAccountToken: false }),
    pod({ serviceAccountName: "", volumes: [{ name: "kube-api-access-mine", emptyDir: {} }] }),
    pod({
      volumes: [{ name: "own", emptyDir: {} }],
      containers: [
        { ...container, volumeMounts: [mounted] },
        { ...container, name: "d" }
      ]
    }),
    pod({ volumes: [{ name: "own", emptyDir: {} }], containers: [{ ...container, volumeMounts: [mounted] }] })
  ),
  dialogue(
    "a pod of an account without a token",
    account("quiet", { automountServiceAccountToken: false }),
    pod({ serviceAccountName: "quiet" }),
    pod({ serviceAccountName: "quiet", automountServiceAccountToken: true })
  ),
  dialogue(
    "the image pull secrets of an account",
    account("puller", { imagePullSecrets: [{ name: "one" }, { name: "two" }], automountServiceAccountToken: false }),
    pod({ serviceAccountName: "puller" }),
    pod({ serviceAccountName: "puller", imagePullSecrets: [{ name: "mine" }] })
  ),
  dialogue(
    "the Secrets that an account allows",
    account(
      "strict",
      { secrets: [{ name: "known" }], imagePullSecrets: [{ name: "pull" }], automountServiceAccountToken: false },
      enforced
    ),
    pod({ serviceAccountName: "strict" }),
    pod({ serviceAccountName: "strict", volumes: [{ name: "v", secret: { secretName: "known" } }] }),
    pod({ serviceAccountName: "strict", volumes: [{ name: "v", secret: { secretName: "other" } }] }),
    pod({ serviceAccountName: "strict", containers: [{ ...container, env: [fromSecret] }] }),
    pod({ serviceAccountName: "strict", containers: [{ ...container, envFrom: [{ secretRef: { name: "other" } }] }] }),
    pod({ serviceAccountName: "strict", initContainers: [{ ...container, name: "i", env: [fromSecret] }] }),
    pod({ serviceAccountName: "strict", imagePullSecrets: [{ name: "mine" }] })
  ),
  dialogue(
    "a mirror pod",
    account("default"),
    pod({ nodeName: "n" }, mirror),
    pod({ nodeName: "n", serviceAccountName: "default" }, mirror),
    pod({ nodeName: "n", volumes: [{ name: "v", secret: { secretName: "s" } }] }, mirror),
    pod({ nodeName: "n", containers: [{ ...container, env: [fromSecret] }] }, mirror)
  ),
  dialogue("a pod that is stored, and one of a template", account("default"), {
    ...post(`${space}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "stored" },
      spec: { containers: [container] }
    })
  })
]

export const accounts: Suite = {
  name: "accounts",
  plane: { tokens: true },
  server: { admissionPlugins: ["ServiceAccount"] },
  dialogues
}
