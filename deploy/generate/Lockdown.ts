/**
 * ValidatingAdmissionPolicies that limit what the manager's own ServiceAccount may write. RBAC cannot require that a Job is a mover, and it
 * cannot exclude a namespace. So without these policies, a token of the manager can do what a cluster administrator can. Pure.
 *
 * A new controller needs its writes in {@link writesOf}, and a policy if the API server must look at the objects.
 */
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Names from "@homeostat/backup/kinds/Names"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as MoverJob from "@homeostat/backup/run/MoverJob"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { WebApp } from "@homeostat/webapp/WebApp"
import {
  controllersOf,
  isSet,
  isTrue,
  list,
  named,
  none,
  objects,
  orElse,
  owners,
  type Rules,
  requests,
  text,
  unowned,
  validation
} from "./Rules.ts"
import { autoscalers, budgets, child, companions, networkPolicies, routeKinds, routes } from "./WebAppPolicies.ts"

/** A ValidatingAdmissionPolicy or its binding. */
export interface Policy {
  readonly apiVersion: "admissionregistration.k8s.io/v1"
  readonly kind: "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding"
  readonly metadata: { readonly name: string; readonly labels: { readonly [label: string]: string } }
  readonly spec: object
}

/** The Secret in which the manager keeps the certificate of its webhooks, in its own namespace. */
export const certificateSecret = (name: string): string => `${name}-webhook-certificate`

const hostNamespaces = ["hostNetwork", "hostPID", "hostIPC"]
  .map((field) => named(field, isTrue("variables.pod", field)))
  .join(" + ")

/** The containers that do not fulfil a condition on their `c.securityContext`. */
const lax = (condition: string): string =>
  `variables.pod.containers.filter(c, !(has(c.securityContext) && ${condition})).map(c, c.name)`

/** The types of SELinux that the baseline of Pod Security allows. */
const seLinuxTypes = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]

/** Whether a security context leaves the baseline of Pod Security, besides privileges and capabilities. */
const unconfined = (context: string): string =>
  [
    `has(${context}.seccompProfile) && ${context}.seccompProfile.type == 'Unconfined'`,
    `has(${context}.appArmorProfile) && ${context}.appArmorProfile.type == 'Unconfined'`,
    `has(${context}.seLinuxOptions) && (!(${orElse(`${context}.seLinuxOptions`, "type", "''")} in ${list(seLinuxTypes)}) || ${isSet(`${context}.seLinuxOptions`, "user", "''")} || ${isSet(`${context}.seLinuxOptions`, "role", "''")})`,
    `has(${context}.windowsOptions) && ${isTrue(`${context}.windowsOptions`, "hostProcess")}`
  ].join(" || ")

/** Whether a probe or a hook makes the kubelet connect to another host than the pod. */
const connects = (handler: string): string =>
  `has(${handler}) && (${["httpGet", "tcpSocket"].map((action) => `has(${handler}.${action}) && ${isSet(`${handler}.${action}`, "host", "''")}`).join(" || ")})`

const probes = ["livenessProbe", "readinessProbe", "startupProbe"].map((probe) => connects(`c.${probe}`)).join(" || ")
const hooks = ["postStart", "preStop"].map((hook) => connects(`c.lifecycle.${hook}`)).join(" || ")

/** The variables and the validations of a pod's isolation from its node. */
const isolation = (containers: string) => ({
  variables: {
    unconfined: `${named("pod", `has(variables.pod.securityContext) && (${unconfined("variables.pod.securityContext")} || ${isSet("variables.pod.securityContext", "sysctls", "[]")})`)} + ${containers}.filter(c, has(c.securityContext) && (${unconfined("c.securityContext")} || ${isSet("c.securityContext", "procMount", "'Default'")})).map(c, c.name) + (has(object.spec.template.metadata) ? ${orElse("object.spec.template.metadata", "annotations", "{}")} : {}).filter(a, a.startsWith('container.apparmor.security.beta.kubernetes.io/'))`,
    hostPorts: `${containers}.filter(c, ${orElse("c", "ports", "[]")}.exists(p, ${isSet("p", "hostPort", "0")})).map(c, c.name)`,
    connecting: `${containers}.filter(c, ${probes} || has(c.lifecycle) && (${hooks})).map(c, c.name)`,
    placed: named("nodeName", isSet("variables.pod", "nodeName", "''")),
    priority: orElse("variables.pod", "priorityClassName", "''")
  },
  validations: [
    none("placed", "field of the pod template forbidden", "must not be set"),
    // Such a pod evicts pods of others.
    validation(
      "!variables.priority.startsWith('system-')",
      "priorityClassName forbidden",
      "variables.priority",
      "must not begin with system-"
    ),
    none("unconfined", "security context forbidden", "must meet the baseline of Pod Security, without sysctls"),
    none("hostPorts", "hostPort forbidden: container", "must not be set"),
    none("connecting", "host of a probe or hook forbidden: container", "must not be set")
  ]
})

const reviews = ["authentication.k8s.io", "authorization.k8s.io"].map((group) => requests(group, ["*/*"], ["*"]))

/**
 * The writes of the manager besides reviews, as the policies and their messages spell them: `update webapps.apps.kubedojo.io/status`.
 */
export const writesOf = (kinds: ReadonlyArray<CustomResource.Any>): ReadonlyArray<string> => [
  "create jobs.batch",
  "update jobs.batch",
  "delete jobs.batch",
  "create deployments.apps",
  "update deployments.apps",
  "create services",
  "update services",
  ...[...companions, ...routeKinds, "controllerrevisions.apps"].flatMap((each) =>
    ["create", "update", "delete"].map((verb) => `${verb} ${each}`)
  ),
  "create persistentvolumeclaims",
  ...kinds.flatMap(({ group, plural }) => [`update ${plural}.${group}`, `update ${plural}.${group}/status`]),
  "create customresourcedefinitions.apiextensions.k8s.io",
  "update customresourcedefinitions.apiextensions.k8s.io",
  ...unlimited.flatMap((resource) => [`create ${resource}`, `update ${resource}`]),
  "create secrets",
  "update secrets",
  "delete secrets",
  ...registered.flatMap((resource) => [`create ${resource}`, `update ${resource}`])
]

/** The kinds that the flag `--webhooks` writes. The roles limit updates to the names of the program. */
const registered = [
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingadmissionpolicies.admissionregistration.k8s.io",
  "validatingadmissionpolicybindings.admissionregistration.k8s.io"
]

/** The resources whose objects no policy looks at. Only these, and one Secret, may be written in the manager's namespace. */
const unlimited = ["events.events.k8s.io", "events", "leases.coordination.k8s.io"]

const writes = (name: string, kinds: ReadonlyArray<CustomResource.Any>): Rules => {
  const secret = certificateSecret(name)
  const isInNamespace = "has(request.namespace) && request.namespace != ''"
  return {
    requests: [requests("*", ["*/*"], ["*"])],
    // They change nothing, and the API server asks for reviews of its own callers in the same way.
    except: reviews,
    variables: {
      resource:
        "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group) + (has(request.subResource) && request.subResource != '' ? '/' + request.subResource : '')",
      write: "request.operation.lowerAscii() + ' ' + variables.resource",
      home: "request.userInfo.username.split(':')[2]",
      isAtHome: `${isInNamespace} && request.namespace == variables.home`,
      isCertificate: `variables.resource == 'secrets' && variables.isAtHome && request.name == ${text(secret)}`,
      // The API server would issue a token of a ServiceAccount for another type, or for the annotations.
      isToken: `object != null && (${orElse("object", "type", "''")} != 'kubernetes.io/tls' || ${orElse("object.metadata", "annotations", "{}")}.exists(a, a.startsWith('kubernetes.io/service-account.')))`
    },
    validations: [
      validation(
        `!(${isInNamespace} && request.namespace.startsWith('kube-'))`,
        "namespace forbidden",
        "request.namespace",
        "must not begin with kube-"
      ),
      validation(
        `!variables.isAtHome || variables.isCertificate || variables.resource in ${list(unlimited)}`,
        "write in the namespace of the manager forbidden",
        "variables.write",
        `must be of a Lease, an Event or Secret ${secret}`
      ),
      validation(
        "variables.resource != 'secrets' || variables.isCertificate",
        "Secret forbidden",
        "request.namespace + '/' + request.name",
        `must be ${secret} in the namespace of the manager`
      ),
      validation(
        "!variables.isCertificate || !variables.isToken",
        "type or annotation of the Secret forbidden",
        "request.namespace + '/' + request.name",
        "must be of type kubernetes.io/tls, without annotations kubernetes.io/service-account.*"
      ),
      validation(
        `variables.write in ${list(writesOf(kinds))}`,
        "write forbidden",
        "variables.write",
        "must be one that a controller of the program makes"
      )
    ]
  }
}

/**
 * Every Job that the manager touches has a Backup, Restore or WebApp as controller. An older version may have made it, so nothing else
 * counts.
 */
const jobs: Rules = {
  requests: [requests("batch", ["jobs"], ["CREATE", "UPDATE", "DELETE"])],
  variables: {
    objects,
    owners,
    refused: `variables.owners.filter(o, !(o.startsWith('${Backup.group}/') && o.split(' ')[1] in ${list([Backup.kind, Restore.kind])} || o.startsWith('${WebApp.group}/') && o.split(' ')[1] == '${WebApp.kind}'))`
  },
  validations: [
    unowned(
      "owner of the Job forbidden",
      `must be a Backup or Restore of ${Backup.group} or a WebApp of ${WebApp.group}, as controller`
    )
  ]
}

/** Whether a WebApp controls the new object. */
const isOfWebApp = `${controllersOf("object")}.exists(r, r.apiVersion.startsWith('${WebApp.group}/') && r.kind == '${WebApp.kind}')`

/** The capabilities of privileged movers, which the baseline of Pod Security allows. */
const capabilities = [...new Set(Object.values(MoverJob.capabilities).flat())].sort()

/** Whether a metadata has the label `l`, or meets another condition on its value. */
const labelled = (metadata: string, otherwise: string): string =>
  `has(${metadata}.labels) && l[0] in ${metadata}.labels && (l[1] == '' || ${metadata}.labels[l[0]] == l[1] || ${otherwise})`

/** The Job and pod of a mover, as `MoverJob.desired` makes them. */
const ofMovers = isolation("variables.pod.containers")
const movers: Rules = {
  requests: [requests("batch", ["jobs"], ["CREATE", "UPDATE"])],
  when: `!${isOfWebApp}`,
  variables: {
    pod: "object.spec.template.spec",
    // Without a controller the policy of Jobs refuses it.
    owner: `(${controllersOf("object")}.map(r, string(r.uid)) + [''])[0]`,
    // An empty value stands for any. A manager of 0.1.0 sets no label of the use, and the name of a Job depends on its trigger.
    labels: `[${[
      ...Object.entries(Names.moverLabels).map(([label, value]) => `[${text(label)}, ${text(value)}]`),
      `[${text(Names.ownerLabel)}, variables.owner]`,
      ...[Names.repositoryLabel, Names.triggerLabel].map((label) => `[${text(label)}, '']`)
    ].join(", ")}]`,
    unlabelled: `variables.labels.filter(l, !(${labelled("object.metadata", `l[0] == ${text(Names.nameLabel)} && object.metadata.labels[l[0]] == ${text(Names.maintenanceName)}`)} && ${labelled("object.spec.template.metadata", "false")})).map(l, l[0])`,
    token: `has(variables.pod.automountServiceAccountToken) ? string(variables.pod.automountServiceAccountToken) : 'not set'`,
    hosts: hostNamespaces,
    volumes: `${orElse("variables.pod", "volumes", "[]")}.filter(v, !(has(v.persistentVolumeClaim) || has(v.emptyDir) || has(v.secret))).map(v, v.name)`,
    initial: `${orElse("variables.pod", "initContainers", "[]")}.map(c, c.name)`,
    capable: lax(
      `has(c.securityContext.capabilities) && ${orElse("c.securityContext.capabilities", "drop", "[]")}.exists(d, d == 'ALL') && ${orElse("c.securityContext.capabilities", "add", "[]")}.all(a, a in ${list(capabilities)})`
    ),
    escalating: lax("has(c.securityContext.allowPrivilegeEscalation) && !c.securityContext.allowPrivilegeEscalation"),
    writable: lax(isTrue("c.securityContext", "readOnlyRootFilesystem")),
    ...ofMovers.variables
  },
  validations: [
    none("unlabelled", "label of a mover missing or invalid", "required on the Job and its pod template"),
    validation(
      "variables.token == 'false'",
      "invalid automountServiceAccountToken",
      "variables.token",
      "must be false"
    ),
    none("hosts", "field of the pod template forbidden", "must be false or not set"),
    none("volumes", "volume forbidden", "must be a persistentVolumeClaim, emptyDir or secret"),
    none("initial", "init container forbidden", "must have containers only"),
    none("capable", "capabilities forbidden: container", `must drop ALL and add at most ${capabilities.join(", ")}`),
    none("escalating", "invalid allowPrivilegeEscalation: container", "must be false"),
    none("writable", "invalid readOnlyRootFilesystem: container", "must be true"),
    ...ofMovers.validations
  ]
}

/** The types of volumes that the level restricted of Pod Security allows. Others lead to the node or to servers on the network. */
const volumeTypes = [
  ...["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"],
  "secret"
]

/** Fields with which the claim of a generic ephemeral volume has the data of another claim. */
const sources = ["dataSource", "dataSourceRef", "selector", "volumeName"]
  .map((field) => `has(v.ephemeral.volumeClaimTemplate.spec.${field})`)
  .join(" || ")

/** The variables and validations of the pods of a WebApp and of its Jobs. */
const isolated = isolation("variables.containers")
const pods = {
  variables: {
    pod: "object.spec.template.spec",
    fields: `${hostNamespaces} + ${named("serviceAccountName", `!(${orElse("variables.pod", "serviceAccountName", "''")} in ['', 'default'])`)}`,
    volumes: `${orElse("variables.pod", "volumes", "[]")}.filter(v, !(${volumeTypes.map((type) => `has(v.${type})`).join(" || ")})).map(v, v.name)`,
    copies: `${orElse("variables.pod", "volumes", "[]")}.filter(v, has(v.ephemeral) && has(v.ephemeral.volumeClaimTemplate) && (${sources})).map(v, v.name)`,
    containers: `variables.pod.containers + ${orElse("variables.pod", "initContainers", "[]")}`,
    privileged: `variables.containers.filter(c, has(c.securityContext) && (${isTrue("c.securityContext", "privileged")} || has(c.securityContext.capabilities) && ${isSet("c.securityContext.capabilities", "add", "[]")})).map(c, c.name)`,
    ...isolated.variables
  },
  validations: [
    none("fields", "field of the pod template forbidden", "must not be set"),
    none("volumes", "volume forbidden", `must be one of ${volumeTypes.join(", ")}`),
    none("copies", "claim of an ephemeral volume forbidden", "must not have the data of another claim"),
    none("privileged", "privileges forbidden: container", "must not be privileged or add capabilities"),
    ...isolated.validations
  ]
}

const deployments: Rules = {
  requests: [requests("apps", ["deployments"], ["CREATE", "UPDATE"])],
  variables: { ...child.variables, ...pods.variables },
  validations: [child.validation, ...pods.validations]
}

/** The Jobs of WebApps. They run with the pod template of the Deployment. */
const webappjobs: Rules = {
  requests: [requests("batch", ["jobs"], ["CREATE", "UPDATE"])],
  when: isOfWebApp,
  ...pods
}

const services: Rules = {
  requests: [requests("", ["services"], ["CREATE", "UPDATE"])],
  variables: {
    ...child.variables,
    type: orElse("object.spec", "type", "'ClusterIP'"),
    addresses: orElse("object.spec", "externalIPs", "[]")
  },
  validations: [
    child.validation,
    validation(
      `variables.type == 'ClusterIP' || oldObject != null && has(oldObject.spec.type) && variables.type == oldObject.spec.type`,
      "type of the Service forbidden",
      "variables.type",
      "must be ClusterIP"
    ),
    validation(
      `variables.addresses.size() == 0 || oldObject != null && has(oldObject.spec.externalIPs) && variables.addresses == oldObject.spec.externalIPs`,
      "externalIPs forbidden",
      "variables.addresses.join(', ')",
      "must be empty"
    )
  ]
}

/** The claim of a Restore has no owner, because its files outlive the Restore. */
const claims: Rules = {
  requests: [requests("", ["persistentvolumeclaims"], ["CREATE"])],
  variables: {
    fields: [
      named("ownerReferences", isSet("object.metadata", "ownerReferences", "[]")),
      ...["dataSource", "dataSourceRef", "selector", "volumeName"].map((field) =>
        named(field, `has(object.spec.${field})`)
      )
    ].join(" + ")
  },
  validations: [
    none(
      "fields",
      "field of the PersistentVolumeClaim forbidden",
      "must be one of spec.volumeClaimTemplate of a Restore"
    )
  ]
}

/** Users write the kinds of the program. The manager adds and removes a finalizer, and writes the status, which is another resource. */
const ownKinds = (kinds: ReadonlyArray<CustomResource.Any>): Rules => {
  const changed = (parent: string, field: string) => {
    const [now, before] = [`object${parent}`, `oldObject${parent}`]
    return named(
      field,
      `has(${now}.${field}) != has(${before}.${field}) || has(${now}.${field}) && ${now}.${field} != ${before}.${field}`
    )
  }
  const groups = [...new Set(kinds.map(({ group }) => group))]
  return {
    requests: groups.map((group) =>
      requests(
        group,
        kinds.filter((kind) => kind.group === group).map(({ plural }) => plural),
        ["UPDATE"]
      )
    ),
    variables: {
      changed: [
        changed("", "spec"),
        ...["labels", "annotations", "ownerReferences"].map((field) => changed(".metadata", field))
      ].join(" + ")
    },
    validations: [none("changed", "change forbidden", "must be of metadata.finalizers or the status")]
  }
}

/** The manager installs its CRDs with --install-crds. */
const definitions = (kinds: ReadonlyArray<CustomResource.Any>): Rules => {
  const groups = [...new Set(kinds.map(({ group }) => group))]
  return {
    requests: [requests("apiextensions.k8s.io", ["customresourcedefinitions"], ["CREATE", "UPDATE"])],
    variables: {
      home: "request.userInfo.username.split(':')[2]",
      isKept:
        "oldObject != null && has(oldObject.spec.conversion) && oldObject.spec.conversion == object.spec.conversion",
      isOwn:
        "has(object.spec.conversion.webhook) && has(object.spec.conversion.webhook.clientConfig) && has(object.spec.conversion.webhook.clientConfig.service) && object.spec.conversion.webhook.clientConfig.service.namespace == variables.home"
    },
    validations: [
      // The API server sends every object of the kind there, and stores what comes back.
      validation(
        "!has(object.spec.conversion) || object.spec.conversion.strategy == 'None' || variables.isKept || variables.isOwn",
        "conversion of the CRD forbidden",
        "object.metadata.name",
        "must be None, or by a Service in the namespace of the manager"
      ),
      validation(
        `object.spec.group in ${list(groups)}`,
        "group of the CRD forbidden",
        "object.spec.group",
        `must be ${groups.join(" or ")}`
      )
    ]
  }
}

/** The ControllerRevisions of a WebApp begin with its name. */
const revisions: Rules = {
  requests: [requests("apps", ["controllerrevisions"], ["CREATE", "UPDATE", "DELETE"])],
  variables: {
    name: "(object == null ? oldObject : object).metadata.name",
    ...child.variables,
    refused: `variables.owners.filter(o, !(o.startsWith('${WebApp.group}/') && o.contains(' ${WebApp.kind} ') && variables.name.startsWith(o.split(' ')[2] + '-') || o == 'none' && variables.isGivenAway))`
  },
  validations: [unowned("owner forbidden", `must be a ${WebApp.kind} with whose name the name begins, as controller`)]
}

/** The names of the policies without the program's, which each of them begins with. */
export const policiesOf = (
  name: string,
  kinds: ReadonlyArray<CustomResource.Any>
): { readonly [name: string]: Rules } => ({
  writes: writes(name, kinds),
  jobs,
  movers,
  deployments,
  webappjobs,
  services,
  autoscalers,
  budgets,
  access: networkPolicies,
  revisions,
  routes,
  claims,
  kinds: ownKinds(kinds),
  crds: definitions(kinds)
})

/**
 * The policies, each followed by its binding.
 *
 * They limit the ServiceAccount of that name in every namespace. A kustomization that sets another namespace does not change expressions. A
 * policy with the old namespace would then limit no manager. The policies also apply to several managers, each in its own namespace.
 *
 * @param name the program's name, which is the name of its ServiceAccount
 */
export const of = (name: string, kinds: ReadonlyArray<CustomResource.Any>): ReadonlyArray<Policy> =>
  Object.entries(policiesOf(name, kinds)).flatMap(([topic, rules]): ReadonlyArray<Policy> => {
    const { except, requests, validations, variables, when } = rules
    const apiVersion = "admissionregistration.k8s.io/v1"
    const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": name }
    const metadata = { name: `${name}-${topic}`, labels }
    const spec = {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: requests,
        ...(except !== undefined && { excludeResourceRules: except })
      },
      matchConditions: [
        {
          name: "manager",
          expression: `request.userInfo.username.matches(${text(`^system:serviceaccount:[^:]+:${name}$`)})`
        },
        ...(when === undefined ? [] : [{ name: "objects", expression: when }])
      ],
      variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })),
      validations
    }
    const bound = { policyName: metadata.name, validationActions: ["Deny"] }
    return [
      { apiVersion, kind: "ValidatingAdmissionPolicy", metadata, spec },
      { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata, spec: bound }
    ]
  })
