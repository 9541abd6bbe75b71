/**
 * The part of `deploy/` that follows from code: the CustomResourceDefinitions, the permissions of the manager, the roles for
 * people, the policies that limit the manager. In {@link folders} there is nothing else. Pure: the same program gives the same files.
 */
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Webhooks from "@homeostat/runtime/command/Webhooks"
import * as Yaml from "@homeostat/runtime/command/Yaml"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Effect from "effect/Effect"
import * as Lockdown from "./Lockdown.ts"
import * as PeopleRoles from "./PeopleRoles.ts"

/** The folders below `deploy/` in which every file is generated. */
export const folders = ["crds", "rbac", "components/lockdown"] as const

/** Files by their path below `deploy/`. */
export type Files = ReadonlyMap<string, string>

/** The program to install. */
export type Program = Webhooks.Program<unknown>

/** The namespace that the manager runs in. */
export const namespaceOf = ({ name }: Program): string => `${name}-system`

const header = (lines: ReadonlyArray<string>): string =>
  [...lines, "Written by `bun run generate` from the controllers' declarations: the next run overwrites changes."]
    .map((line) => `# ${line}\n`)
    .join("")

const file = (lines: ReadonlyArray<string>, objects: ReadonlyArray<object>): Effect.Effect<string> =>
  Effect.map(Yaml.documents(objects), (text) => `${header(lines)}${text}\n`)

/** A kustomization of some files beside it, which labels their objects. */
const kustomization = ({ name }: Program, lines: ReadonlyArray<string>, resources: ReadonlyArray<string>) =>
  file(lines, [
    {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources,
      labels: [{ pairs: { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": name } }]
    }
  ])

const pathOf = ({ group, plural }: CustomResource.Any): string => `${group}_${plural}.yaml`

const crds = (program: Program) => {
  const kinds = Kinds.of(program)
  return {
    ...Object.fromEntries(
      kinds.map((kind) => [
        pathOf(kind),
        file(
          [`The CRD of ${kind.kind}, as \`${program.name} crd\` prints it.`],
          [Crd.of(kind, Webhooks.conversionOf(program, namespaceOf(program)))]
        )
      ])
    ),
    "kustomization.yaml": kustomization(program, ["The kinds."], kinds.map(pathOf))
  }
}

/** A role or binding that is in no namespace yet. */
const anywhere = (object: Rbac.Role | Rbac.Binding) => ({ ...object, metadata: { name: object.metadata.name } })

const rbac = (program: Program) => {
  const { controllers, name } = program
  const namespace = namespaceOf(program)
  const settings = { name, serviceAccount: { namespace, name }, installCrds: false, lease: undefined }
  const wide = Rbac.objects(controllers, { ...settings, namespaces: [], metricsSecure: true })
  // Only where they stand depends on the namespace, which who includes them says.
  const narrow = Rbac.objects(controllers, { ...settings, namespaces: ["default"] }).map(anywhere)
  const lease = Rbac.objects([], { ...settings, namespaces: [], lease: { namespace, name } })
  const webhooks = Rbac.objects([], {
    ...settings,
    namespaces: [],
    webhookAccess: Webhooks.access(program, { webhooks: true, namespaces: [] }, namespace)
  })
  return {
    "leader-election.yaml": file(["The permissions for leader election."], lease),
    "people.yaml": file(
      [
        "For users and Prometheus. Kubernetes adds the first two to its ClusterRoles `view` and `edit`: a user who may edit the",
        "Deployments of a namespace may edit these kinds there. Bind the others yourself: see docs/callers.md.",
        "An editor can name any Secret and claim of the namespace in a Backup, as in a pod."
      ],
      PeopleRoles.of(name, Kinds.of({ controllers }))
    ),
    "kustomization.yaml": kustomization(
      program,
      ["The objects of every installation."],
      ["leader-election.yaml", "people.yaml"]
    ),
    "cluster/manager.yaml": file(
      [
        `The permissions of a manager for all namespaces, as \`${name} rbac --metrics-secure\` prints them.`,
        "TokenReviews and SubjectAccessReviews are for --metrics-secure, and for callers of /why with a token."
      ],
      wide
    ),
    "cluster/kustomization.yaml": kustomization(program, ["Permissions in all namespaces."], ["manager.yaml"]),
    "namespaced/manager.yaml": file(
      [
        `The permissions of a manager in one of its namespaces, as \`${name} rbac --namespace NAME\` prints them.`,
        "The including kustomization sets the namespace."
      ],
      narrow
    ),
    "webhooks/manager.yaml": file(
      [`The permissions for the webhooks, as \`${name} rbac --webhooks\` prints them.`],
      webhooks
    ),
    "webhooks/kustomization.yaml": kustomization(program, ["The permissions for the webhooks."], ["manager.yaml"]),
    "namespaced/kustomization.yaml": kustomization(program, ["Permissions in one namespace."], ["manager.yaml"])
  }
}

const lockdown = ({ controllers, name }: Program) => ({
  "policies.yaml": file(
    [
      `Limits what a ServiceAccount \`${name}\`, of any namespace, may write, and no other user: see docs/security.md.`,
      "A new controller needs its rule in deploy/generate/Lockdown.ts."
    ],
    Lockdown.of(name, Kinds.of({ controllers }))
  ),
  "kustomization.yaml": file(
    ["Limits the manager by ValidatingAdmissionPolicies, on top of its permissions."],
    [{ apiVersion: "kustomize.config.k8s.io/v1alpha1", kind: "Component", resources: ["policies.yaml"] }]
  )
})

/** All files. */
export const files = (program: Program): Effect.Effect<Files> => {
  const [kinds, roles, policies] = folders
  const all = Object.entries({
    [kinds]: crds(program),
    [roles]: rbac(program),
    [policies]: lockdown(program)
  }).flatMap(([folder, files]) =>
    Object.entries(files).map(([path, text]) => Effect.map(text, (text) => [`${folder}/${path}`, text] as const))
  )
  return Effect.map(Effect.all(all), (entries) => new Map(entries))
}
